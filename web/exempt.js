/* Whether a user, client or address is on the whitelist, and putting it there or taking it off. */
import * as api from "./api.js";
import { button, confirmed, el, field, select } from "./dom.js";
import { Table } from "./table.js";
import { cut, momentOf, visible } from "./words.js";

const SPANS = [["900", "15 minutes"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "1 week"],
    ["", "no end"]];

/* What of a request can be exempt: { kind, value } each. Users and clients are a tenant's. */
function subjectsOf(request) {
    const inTenant = (name) => (request.tenant ? `${request.tenant}/${name}` : name);
    const subjects = [];
    for (const kind of ["user", "client"])
        if (request[kind])
            subjects.push({ kind, value: inTenant(request[kind]) });
    if (request.ip)
        subjects.push({ kind: "ip", value: request.ip });
    return subjects;
}

function stateOf({ found }) {
    if (!found)
        return "not exempt by itself";
    const end = found.until === null ? "without an end" : `until ${momentOf(found.until * 1e6)}`;
    const why = found.reason ? `, because: ${visible(found.reason)}` : "";
    return `exempt ${found.source === "file" ? "by the rules file" : end}${why}`;
}

export class Exemptions {
    /* `changed` is called after a change. */
    constructor(request, note, changed) {
        this.subjects = subjectsOf(request);
        this.note = note;
        this.changed = changed;
        this.table = new Table({
            caption: "Who is exempt is asked no rule. A network or a key can exempt too.",
            key: (one) => `${one.kind} ${one.value}`,
            empty: "Users, clients and addresses can be exempt; give one.",
            columns: [
                { title: "Who", text: (one) => `${one.kind} ${cut(one.value)}` },
                { title: "State", text: stateOf },
                { title: "Change", fill: (cell, one) => this.offer(cell, one) },
            ],
        });
        this.element = this.table.element;
        this.table.update([]);
    }

    async update(signal) {
        if (this.subjects.length === 0)
            return;
        const { exemptions } = await api.exemptions(signal);
        const find = ({ kind, value }) =>
            exemptions.find((other) => other.kind === kind && other.value === value);
        this.table.update(this.subjects.map((one) => ({ ...one, found: find(one) })));
    }

    /* The one button that fits: what the file says cannot be ended here. */
    offer(cell, one) {
        const ending = one.found?.source === "api" ? "End the exemption" : "";
        const wanted = one.found ? ending : "Exempt…";
        if (cell.textContent === wanted)
            return;
        const act = one.found ? () => this.end(one) : () => this.begin(one);
        cell.replaceChildren(...(wanted ? [button(wanted, act)] : []));
    }

    async begin(one) {
        const reason = el("input", { name: "reason", maxlength: "200" });
        const length = select(SPANS, "3600", { name: "span" });
        const values = await confirmed({ title: "Exempt?", action: "Exempt",
            text: `No rule will limit ${one.kind} ${cut(one.value)}.`,
            fields: [field("For how long", length),
                field("Reason", reason, "It is written to the audit log.")],
            collect: () => ({ span: length.value, reason: reason.value }) });
        if (!values)
            return;
        const { kind, value } = one, now = Math.round(api.serverNowMs() / 1000);
        const until = values.span ? now + Number(values.span) : null;
        await this.change(() => api.exempt({ kind, value, until, reason: values.reason || null }),
            `Exempt: ${kind} ${cut(value)}.`);
    }

    async end(one) {
        const yes = await confirmed({ title: "End the exemption?", action: "End it",
            text: `From now on ${one.kind} ${cut(one.value)} is limited as everybody is.` });
        if (yes)
            await this.change(() => api.endExemption(one.kind, one.value),
                `No longer exempt: ${one.kind} ${cut(one.value)}.`);
    }

    async change(act, words) {
        try {
            await act();
            this.note.good(words);
        } catch (problem) {
            this.note.bad(problem);
        }
        this.changed();
    }
}
