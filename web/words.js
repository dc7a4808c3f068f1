/* Numbers, times and identifiers as people read them. */

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const NONE = "–";

const has = (value) => value !== null && value !== undefined;

export const count = (number) => (has(number) ? whole.format(number) : NONE);
export const share = (number) => (has(number) ? percent.format(number) : NONE);
export const rate = (number) => (has(number) ? short.format(number) : NONE);

/* 1.2 µs, 3.4 ms, 5 s */
export function latency(us) {
    if (!has(us))
        return NONE;
    if (us < 1000)
        return `${short.format(us)} µs`;
    return us < 1e6 ? `${short.format(us / 1000)} ms` : `${short.format(us / 1e6)} s`;
}

/* 45 s, 3 min 5 s, 2 h 10 min, 4 d 3 h: the two largest units, rounded up. */
export function span(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const all = Math.max(0, Math.ceil(seconds));
    const first = units.findIndex(([size]) => all >= size);
    if (first < 0)
        return "0 s";
    const [size, name] = units[first];
    const [below, belowName] = units[first + 1] ?? [1, ""];
    const rest = Math.floor((all % size) / below);
    return `${Math.floor(all / size)} ${name}${rest && belowName ? ` ${rest} ${belowName}` : ""}`;
}

export const timeOf = (us) => clock.format(us / 1000);
export const momentOf = (us) => moment.format(us / 1000);
export const momentOfText = (text) => (text ? moment.format(new Date(text)) : NONE);

/* The moment of a step in a curve: a day needs no seconds. */
export const stepOf = (us, stepS) => (stepS < 60 ? clock : minute).format(us / 1000);

const UNSEEN = new RegExp("[\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff]", "g");

/* Characters that are not seen, or that turn the text around them: a picture or a number in place
 * of each. Otherwise two identifiers could look the same. */
export function visible(text) {
    return String(text)
        .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
        .replace(UNSEEN, (c, at, all) => (isPaired(all, at) ? c : `‹U+${code(c)}›`));
}

const code = (c) => c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");

/* Half of a character beyond U+FFFF, with its other half beside it? */
function isPaired(text, at) {
    const isHigh = (i) => (text.charCodeAt(i) & 0xfc00) === 0xd800;
    const isLow = (i) => (text.charCodeAt(i) & 0xfc00) === 0xdc00;
    return (isHigh(at) && isLow(at + 1)) || (isLow(at) && isHigh(at - 1));
}

/* At most so many characters; the whole belongs into a title. */
export function cut(text, most = 48) {
    const characters = Array.from(visible(text));
    return characters.length <= most ? visible(text) : `${characters.slice(0, most - 1).join("")}…`;
}

/* The values of an identifier: of several, `:` stands between them, and %3A for one within. */
export const valuesOf = (identifier, parts) =>
    (parts === 1 ? [identifier] : identifier.split(":")).map(decoded);

export function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text; /* not ours, then */
    }
}

/* Whom a rule counts, as people write it; without `per` it is not known how many values it has. */
export function whoOf({ tenant, identifier, per }, isEverybody) {
    const who = isEverybody ? "everybody" : valuesOf(identifier, per?.length ?? 1).join(" + ");
    return tenant ? `${tenant}/${who}` : who;
}

/* `api` or its like as it stands in an address. */
export const ruleHref = (name) => `#/rule/${encodeURIComponent(name)}`;
export const editHref = (name) => `#/edit/${encodeURIComponent(name)}`;

/* How a rule's limit is written: 100 in 1 min; 150, 10 a second. */
export function limitOf(rule) {
    if (!has(rule.limit))
        return "none";
    if (has(rule.window_us))
        return `${count(rule.limit)} in ${span(rule.window_us / 1e6)}`;
    return `${count(rule.limit)} at once, ${rate(rule.refill_per_second)} a second`;
}

export const REASONS = {
    ok: "passes",
    exempt: "exempt: no rule is asked",
    no_rule: "no rule is asked",
    rate_limit_exceeded: "the limit is used up",
    burst_blocked: "blocked for a burst",
    cost_exceeds_limit: "one request costs more than the limit",
    missing_identity: "an attribute that the rule counts by is missing",
    store_unavailable: "the store does not answer",
    shadow: "a shadow rule would deny it",
};
