/* Exemptions: whether a user, client or address is on the whitelist; adding and removing it. */
import * as api from "./api.js";
import { button, confirmed, el, field, plainInput, say, select } from "./dom.js";
import { Table } from "./table.js";
import { cut, momentOf, visible } from "./words.js";

const SPANS = [["900", "15 minutes"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "1 week"],
    ["", "no end"]];
const IPV6_BITS = 64; /* the prefix that counts, unless the rules have another */

/* ---- candidates ---- */

/* The list has the form tenant/name; the first slash ends the tenant. */
function namedSubject(kind, { tenant, [kind]: name }) {
    if (tenant?.includes("/"))
        return { kind, value: `${tenant}/${name}`,
            problem: "A tenant with / in its name cannot be told from another here." };
    if (!tenant && name.includes("/"))
        return { kind, value: name,
            problem: `With / in it and no tenant, it would be a ${kind} of a tenant.` };
    return { kind, value: tenant ? `${tenant}/${name}` : name };
}

/* The parts of a request that can be exempt: { kind, value } each, with the reason if one cannot.
 * Users and clients belong to a tenant. */
function subjectsOf(request) {
    const subjects = ["user", "client"].filter((kind) => request[kind])
        .map((kind) => namedSubject(kind, request));
    return request.ip ? [...subjects, { kind: "ip", value: request.ip }] : subjects;
}

/* ---- addresses ---- */

/* An address as 128 bits, IPv4 within ::ffff:0:0/96, as the server has it. Null: it is no
 * address. */
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

/* The network by which an IPv6 address is counted; null: it is no IPv6 address. */
function networkOf(address) {
    const bits = bitsOf(address);
    if (bits === null || !address.includes(":") || bits >> 32n === 0xffffn)
        return null;
    const groups = (bits >> 64n).toString(16).padStart(16, "0").match(/.{4}/g).join(":");
    return `${new URL(`http://[${groups}::]/`).hostname.slice(1, -1)}/${IPV6_BITS}`;
}

/* The value to offer, and a hint. In lists an IPv6 address is the first of its network; an
 * exemption for that address alone would help no client. */
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

/* Of several networks around an address: first those that can be ended here, then the smallest. */
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
        this.isExempt = false; /* of any kind */
        this.names = new Map(); /* their names in the list, as far as the server has told them */
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

    /* Takes a look's answer whether it is exempt; calls `differs` if that is new. */
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

    /* The list may have another name than the one here: a network's, or a digest. */
    async find(one, exemptions) {
        const all = exemptions.filter(({ kind }) => kind === one.kind);
        if (one.kind === "ip")
            return all.filter(({ value }) => isWithin(one.value, value)).sort(byUse)[0];
        const called = (name) => all.find(({ value }) => value === name);
        return called(one.value) ?? called(await this.nameOf(one, all));
    }

    /* Asks the server once for the name in the list, and only if the look says exempt and the list
     * does not have the name here. Readers are not told it: they could not end it either. */
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

    /* Shows the one button that fits: exemptions of the rules file cannot be ended here. */
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

    /* The confirmation names the whole network for which it ends; for a digest, the name in the
     * list. */
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
