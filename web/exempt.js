/* Whether a user, client or address is on the whitelist, and putting it there or taking it off. */
import * as api from "./api.js";
import { button, confirmed, el, field, plainInput, say, select } from "./dom.js";
import { Table } from "./table.js";
import { cut, momentOf, visible } from "./words.js";

const SPANS = [["900", "15 minutes"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "1 week"],
    ["", "no end"]];
const IPV6_BITS = 64; /* what an address of IPv6 counts by, unless the rules say otherwise */

/* ---- whom ---- */

/* The list calls them tenant/name, and the first slash ends the tenant. */
function namedSubject(kind, { tenant, [kind]: name }) {
    if (tenant?.includes("/"))
        return { kind, value: `${tenant}/${name}`,
            problem: "A tenant with / in its name cannot be told from another here." };
    if (!tenant && name.includes("/"))
        return { kind, value: name,
            problem: `With / in it and no tenant, it would be a ${kind} of a tenant.` };
    return { kind, value: tenant ? `${tenant}/${name}` : name };
}

/* What of a request can be exempt: { kind, value } each, and why not, if there is a problem. Users
 * and clients are a tenant's. */
function subjectsOf(request) {
    const subjects = ["user", "client"].filter((kind) => request[kind])
        .map((kind) => namedSubject(kind, request));
    return request.ip ? [...subjects, { kind: "ip", value: request.ip }] : subjects;
}

/* ---- addresses ---- */

/* As 128 bits, IPv4 within ::ffff:0:0/96, as the server has it. Null: it is none. */
function bitsOf(address) {
    if (/^\d{1,3}(\.\d{1,3}){3}$/.test(address))
        return address.split(".").reduce((all, byte) => all << 8n | BigInt(byte), 0xffffn);
    if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(`http://[${address}]/`))
        return null;
    const host = new URL(`http://[${address}]/`).hostname.slice(1, -1);
    const [left, right] = host.split("::").map((half) => half.split(":").filter(Boolean));
    const zeros = right ? Array(8 - left.length - right.length).fill("0") : [];
    const groups = [...left, ...zeros, ...(right ?? [])];
    return BigInt(`0x${groups.map((group) => group.padStart(4, "0")).join("")}`);
}

/* How many of the 128 bits are the network's; an address is a network of its own. */
function prefixOf(network) {
    const [base, bits] = network.split("/");
    return bits === undefined ? 128 : Number(bits) + (base.includes(":") ? 0 : 96);
}

function isWithin(address, network) {
    const bits = bitsOf(address), base = bitsOf(network.split("/")[0]);
    const rest = BigInt(128 - prefixOf(network));
    return bits !== null && base !== null && bits >> rest === base >> rest;
}

/* The network that an address of IPv6 counts by; null: it is none. */
function networkOf(address) {
    const bits = bitsOf(address);
    if (bits === null || !address.includes(":") || bits >> 32n === 0xffffn)
        return null;
    const groups = (bits >> 64n).toString(16).padStart(16, "0").match(/.{4}/g).join(":");
    return `${new URL(`http://[${groups}::]/`).hostname.slice(1, -1)}/${IPV6_BITS}`;
}

/* What to begin with, and what to know. In lists an address of IPv6 is the first of its network,
 * and to exempt that one alone would be no help to anybody. */
function addressField(address) {
    const network = networkOf(address);
    const isFirst = network && bitsOf(address) === bitsOf(network.split("/")[0]);
    const hint = network ? `Addresses of IPv6 count by their network: ${network} exempts all of it.`
        : "Or a network, as in 192.0.2.0/24.";
    const input = plainInput("value", isFirst ? network : address, { required: true });
    return { input, row: field("Address or network", input, hint) };
}

/* ---- on the list ---- */

function stateOf({ value, found }) {
    if (!found)
        return "not exempt by itself";
    const end = found.until === null ? "without an end" : `until ${momentOf(found.until * 1e6)}`;
    const why = found.reason ? `, because: ${visible(found.reason)}` : "";
    const as = found.kind === "ip" && found.value !== value ? ` as ${visible(found.value)}` : "";
    return `exempt${as} ${found.source === "file" ? "by the rules file" : end}${why}`;
}

/* Of several networks around an address, first what can be ended here, then the smallest. */
function byUse(one, other) {
    const isOurs = ({ source }) => (source === "api" ? 1 : 0);
    return isOurs(other) - isOurs(one) || prefixOf(other.value) - prefixOf(one.value);
}

export class Exemptions {
    /* `changed` is called after a change. */
    constructor(request, note, changed) {
        this.subjects = subjectsOf(request);
        this.note = note;
        this.changed = changed;
        this.isExempt = false; /* whatever for */
        this.names = new Map(); /* what the list calls them, as far as the server has said it */
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

    /* Whether a look said that it is exempt; `differs` is called where that is new. */
    hear(isExempt, differs) {
        const isNew = this.isExempt !== isExempt;
        this.isExempt = isExempt;
        if (isNew)
            differs();
    }

    async update(signal) {
        if (this.subjects.length === 0)
            return;
        const { exemptions } = await api.exemptions(signal);
        const rows = [];
        for (const one of this.subjects)
            rows.push({ ...one, found: one.problem ? null : await this.find(one, exemptions) });
        this.table.update(rows);
    }

    /* On the list, somebody may have another name than here: of a network, or a digest. */
    async find(one, exemptions) {
        const all = exemptions.filter(({ kind }) => kind === one.kind);
        if (one.kind === "ip")
            return all.filter(({ value }) => isWithin(one.value, value)).sort(byUse)[0];
        const called = (name) => all.find(({ value }) => value === name);
        return called(one.value) ?? called(await this.nameOf(one, all));
    }

    /* Asked for once, and only where somebody is exempt and not seen on a list that has others.
     * Who may only look is not told: neither could they end it. */
    async nameOf({ kind, value }, others) {
        const key = `${kind} ${value}`;
        if (!this.names.has(key) && this.isExempt && others.length > 0)
            this.names.set(key, await this.askName(kind, value));
        return this.names.get(key);
    }

    async askName(kind, value) {
        try {
            return (await api.nameExemption(kind, value)).value;
        } catch (problem) {
            if (problem.status === 403 || problem.status === 422)
                return null;
            throw problem;
        }
    }

    /* The one button that fits: what the file says cannot be ended here. */
    offer(cell, one) {
        const ending = one.found?.source === "api" ? "End the exemption" : "";
        const wanted = one.found ? ending : "Exempt…";
        cell.one = one;
        if (one.problem)
            say(cell, one.problem);
        else if (cell.textContent !== wanted)
            cell.replaceChildren(...(wanted ? [this.changeButton(cell, wanted)] : []));
    }

    changeButton(cell, text) {
        return button(text, () => (cell.one.found ? this.end(cell.one) : this.begin(cell.one)));
    }

    async begin({ kind, value }) {
        const reason = el("input", { name: "reason", maxlength: "200" });
        const length = select(SPANS, "3600", { name: "span" });
        const address = kind === "ip" ? addressField(value) : null;
        const chosen = await confirmed({ title: "Exempt?", action: "Exempt",
            text: `No rule will limit ${address ? "this address" : `${kind} ${cut(value)}`}.`,
            fields: [...(address ? [address.row] : []), field("For how long", length),
                field("Reason", reason, "It is written to the audit log.")],
            collect: () => ({ value: address ? address.input.value.trim() : value,
                span: length.value, reason: reason.value || null }) });
        if (!chosen)
            return;
        const { span, ...rest } = chosen, now = Math.round(api.serverNowMs() / 1000);
        await this.change(async () => {
            const until = span ? now + Number(span) : null;
            const answer = await api.exempt({ kind, until, ...rest });
            this.names.set(`${kind} ${value}`, answer.value);
            this.note.good(`Exempt: ${kind} ${cut(rest.value)}.`);
        });
    }

    /* It ends for a whole network, and is told so; of a digest the name is told. */
    async end({ kind, value, found }) {
        const who = `${kind} ${cut(kind === "ip" ? found.value : value)}`;
        const yes = await confirmed({ title: "End the exemption?", action: "End it",
            text: `From now on ${who} is limited as everybody is.` });
        if (yes)
            await this.change(async () => {
                await api.endExemption(kind, found.value);
                this.note.good(`No longer exempt: ${who}.`);
            });
    }

    async change(act) {
        try {
            await act();
        } catch (problem) {
            this.note.bad(problem);
        }
        this.changed();
    }
}
