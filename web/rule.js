/* The view of one rule: its numbers, its traffic against its limit, the identifiers that it limits;
 * its preview beside it. */
import * as api from "./api.js";
import { Curve } from "./curve.js";
import { el, part } from "./dom.js";
import { WINDOWS, chosenWindow, linesOf, steadied, topRows, topTable, updateTop, windowChoice }
    from "./live.js";
import { repeat } from "./poll.js";
import { Table, sayHits, sayShare } from "./table.js";
import { count, editHref, latency, limitOf, ruleHref, share, visible } from "./words.js";

const TOP = 20;
export const PREVIEW = "-preview";
const RARELY_MS = 10000; /* how often its text is read */

/* The rule that is tried beside this one, or that this one is tried beside. */
const partnerOf = (name) =>
    (name.endsWith(PREVIEW) ? name.slice(0, -PREVIEW.length) : name + PREVIEW);

/* The requests that the limit allows in one step, if they come evenly. A window may be used up in
 * one second, and a bucket emptied, so curves may go above it for a while. */
function evenly(rule, stepS) {
    const perSecond = rule.window_us ? rule.limit / (rule.window_us / 1e6) : rule.refill_per_second;
    return perSecond * stepS;
}

function limitLine(rule, series) {
    if (rule.limit === null)
        return [];
    const isAll = rule.per.every((name) => name === "global");
    const name = isAll ? "The limit, used evenly" : "One caller's limit, used evenly";
    const level = evenly(rule, series.step_s);
    return [{ name, style: "limit", values: series.allowed.map(() => level) }];
}

/* ---- its numbers ---- */

function factRows(rule, text) {
    const tiers = Object.entries(text.rule.tiers ?? {})
        .map(([tier, numbers]) => `${tier}: ${JSON.stringify(numbers)}`);
    const api = text.replaces ? "the API, in place of the rules file's" : "the API";
    return [["Limit", limitOf(rule)], ["Algorithm", rule.algorithm],
        ["Counts per", rule.per.join(" and ")], ["Resource", rule.resource ?? "every one"],
        ["Burst guard", rule.guarded ? "yes" : "no"],
        ["Tiers of its own", tiers.join("; ") || "none"],
        ["Comes from", text.source === "file" ? "the rules file" : api]];
}

const factTable = () => new Table({
    caption: "What it says.", key: (row) => row[0],
    columns: [{ title: "What", text: (row) => row[0] },
        { title: "Value", text: (row) => visible(row[1]) }],
});

/* ---- its figures ---- */

function windowTable() {
    const number = (title, name) => ({ title, text: (row) => count(row[name]), kind: "number" });
    return new Table({
        caption: "What was asked of it, and what it said.", key: (row) => row.name, cards: true,
        columns: [{ title: "Last", text: (row) => row.name },
            number("Checks", "checks"), number("Allowed", "allowed"), number("Denied", "denied"),
            number("Would be denied", "shadow_denied"), number("Store failed", "store_failed"),
            { title: "Hit rate", fill: (cell, row) => sayHits(cell, row.hit_rate), kind: "number" },
            number("Callers", "callers"), number("Limited", "callers_limited"),
            number("Warnings", "burst_warnings"), number("Blocks", "burst_blocks"),
            { title: "p50", text: (row) => latency(row.latency_us?.p50), kind: "number" },
            { title: "p99", text: (row) => latency(row.latency_us?.p99), kind: "number" }],
    });
}

const windowRows = (rule) => Object.keys(WINDOWS).map((name) => ({ name, ...rule[name] }));

const useTable = () => new Table({
    caption: "How much of the limit sampled decisions of the last minute found in use.",
    key: (row) => row.name, empty: "Nothing was measured in the last minute.",
    columns: [{ title: "In use", text: (row) => row.name },
        { title: "Share", kind: "number",
            fill: (cell, row) => sayShare(cell, row.value, share(row.value)) }],
});

function useRows({ in_use: use }) {
    if (!use)
        return [];
    return [{ name: "on average", value: use.mean }, { name: "at most", value: use.max }];
}

/* ---- rule and preview compared ---- */

function pairTable() {
    const rateIn = (window) => ({ title: `Hit rate, last ${window}`, kind: "number",
        fill: (cell, rule) => sayHits(cell, rule[window].hit_rate) });
    return new Table({
        caption: "The rule in force, and the one that is tried as its shadow.",
        key: (rule) => rule.rule, cards: true,
        columns: [
            { title: "Rule", text: (one) => `${one.rule} (${one.shadow ? "shadow" : "in force"})` },
            { title: "Limit", text: limitOf }, ...Object.keys(WINDOWS).map(rateIn)],
    });
}

/* Null: it was removed since its text was read. */
async function statsOf(name, query, signal) {
    try {
        const stats = await api.stats({ rule: name, ...query }, signal);
        return { ...stats.rules[0], areHashed: stats.identifiers_hashed };
    } catch (problem) {
        if (problem.status === 404)
            return null;
        throw problem;
    }
}

/* ---- the view ---- */

function heading(name, shadow) {
    return el("h1", {}, "Rule ", el("bdi", {}, name), shadow);
}

export function show(view, { parts, query, signal }) {
    const [name] = parts;
    const window = chosenWindow(query);
    const tag = el("span", { class: "tag", hidden: true }, "shadow");
    const curve = new Curve(`Traffic of ${name} in the last ${window}, against its limit`, signal);
    const facts = factTable(), windows = windowTable(), use = useTable(), pair = pairTable();
    const denied = topTable("Denied most often.", false);
    const traffic = topTable("Asking most often.", false);
    const pairPart = part("Shadow and enforced", pair.element);
    const gone = el("p", { class: "note", hidden: true }, "There is no such rule now.");
    pairPart.hidden = true;
    let texts = null, textsMs = 0;

    view.append(heading(name, tag), gone,
        el("p", { class: "row" }, el("a", { class: "button", href: editHref(name) }, "Edit it")),
        windowChoice(window, (chosen) => `${ruleHref(name)}?window=${chosen}`),
        part("Over time", curve.element), pairPart,
        part("Figures", windows.element),
        el("div", { class: "two" },
            el("div", {}, part("Numbers", facts.element), part("Top denied", denied.element)),
            el("div", {}, part("Room", use.element), part("Top traffic", traffic.element))));

    /* The list tells whether there is a partner: a request for a rule that does not exist is an
     * error. */
    async function readTexts() {
        if (Date.now() - textsMs < RARELY_MS)
            return;
        texts = await api.rules(signal);
        textsMs = Date.now();
    }

    repeat(async () => {
        await readTexts();
        const text = texts.get(name);
        const rule = text && await statsOf(name, { series: "true", top: TOP }, signal);
        gone.hidden = Boolean(rule);
        if (!rule)
            return;
        const other = texts.has(partnerOf(name)) && await statsOf(partnerOf(name), {}, signal);
        const { series } = rule[window];
        tag.hidden = !rule.shadow;
        const lines = [...linesOf(series, rule.shadow), ...limitLine(rule, series)];
        curve.update(steadied({ lines, stepS: series.step_s, endUs: series.end_us }));
        facts.update(factRows(rule, text));
        windows.update(windowRows(rule));
        use.update(useRows(rule));
        const isKnown = rule[window].callers !== null;
        updateTop(denied, topRows(rule, "top_denied", rule.areHashed), isKnown);
        updateTop(traffic, topRows(rule, "top_traffic", rule.areHashed), isKnown);
        pairPart.hidden = !other;
        pair.update(other ? [rule, other].sort((a, b) => a.shadow - b.shadow) : []);
    }, WINDOWS[window].everyMs, signal);
}
