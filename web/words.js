/* Numbers, times and identifiers as people read them. */

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
/* A token takes whole nanoseconds: with more digits, 3 a second would be 3.000000003. */
const precise = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 });
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

const UNITS = [[86400e6, "d"], [3600e6, "h"], [60e6, "min"], [1e6, "s"], [1000, "ms"], [1, "µs"]];

/* 1 h 1 s, 500 ms: the numbers of a limit are not rounded. */
export function exactSpan(us) {
    let rest = us;
    const parts = UNITS.map(([size, name]) => {
        const number = Math.floor(rest / size);
        rest -= number * size;
        return number && `${number} ${name}`;
    });
    return parts.filter(Boolean).join(" ") || "0 s";
}

/* 45 s, 3 min 5 s, 2 h 10 min, 4 d 3 h: for waiting, the two largest units, rounded up. */
export function span(seconds) {
    const us = Math.max(0, Math.ceil(seconds)) * 1e6;
    const first = UNITS.findIndex(([size]) => us >= size);
    const [step] = UNITS[Math.min(Math.max(0, first) + 1, 3)];
    return exactSpan(Math.ceil(us / step) * step);
}

export const timeOf = (us) => clock.format(us / 1000);
export const momentOf = (us) => moment.format(us / 1000);
export const momentOfText = (text) => (text ? moment.format(new Date(text)) : NONE);

/* The moment of a step in a curve: a day needs no seconds. */
export const stepOf = (us, stepS) => (stepS < 60 ? clock : minute).format(us / 1000);

/* Controls, halves of a character, ends of lines, and what a font may draw as nothing. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/* Replaces characters that are invisible, or that turn the text around them, by a picture or a
 * number: else two identifiers could look the same. */
export function visible(text) {
    return String(text)
        .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
        .replace(UNSEEN, (c) => `‹U+${code(c)}›`);
}

const code = (c) => c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/* Cuts a text to so many characters; the whole text belongs into a title. */
export function cut(text, most = 48) {
    const characters = Array.from(visible(text));
    return characters.length <= most ? visible(text) : `${characters.slice(0, most - 1).join("")}…`;
}

/* The values of an identifier. `:` separates several; a colon within a value is %3A. */
export const valuesOf = (identifier, parts) =>
    (parts === 1 ? [identifier] : identifier.split(":")).map(decoded);

export function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text; /* not made by the server */
    }
}

/* An identifier as people write it; without `per` the number of its values is unknown. */
export function whoOf({ tenant, identifier, per }, isEverybody) {
    const who = isEverybody ? "everybody" : valuesOf(identifier, per?.length ?? 1).join(" + ");
    return tenant ? `${tenant}/${who}` : who;
}

/* A name as it stands in an address. */
export const ruleHref = (name) => `#/rule/${encodeURIComponent(name)}`;
export const editHref = (name) => `#/edit/${encodeURIComponent(name)}`;

/* How a rule's limit is written: 100 in 1 min; 150, 10 a second. */
export function limitOf(rule) {
    if (!has(rule.limit))
        return "none";
    if (has(rule.window_us))
        return `${count(rule.limit)} in ${exactSpan(rule.window_us)}`;
    return `${count(rule.limit)} at once, ${precise.format(rule.refill_per_second)} a second`;
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
