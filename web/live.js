/* The overview: requests, denials, top identifiers and latencies, live. */
import * as api from "./api.js";
import { eventTable } from "./audit.js";
import { Curve, OTHERS } from "./curve.js";
import { el, field, part, plainInput, say, sayLink, sayPlain, select } from "./dom.js";
import { lookHref, lookProblem } from "./look.js";
import { repeat } from "./poll.js";
import { Table, sayHits, sayShare } from "./table.js";
import { NONE, count, cut, latency, limitOf, rate, ruleHref, share, span, visible, whoOf }
    from "./words.js";

export const WINDOWS = {
    minute: { seconds: 60, everyMs: 1000 },
    hour: { seconds: 3600, everyMs: 5000 },
    day: { seconds: 86400, everyMs: 15000 },
};
const RULES = 50; /* of the busiest rules, at most so many are asked for */
const EVENTS = 8, EVENTS_EVERY_MS = 3000;

export function chosenWindow(query) {
    return Object.hasOwn(WINDOWS, query.get("window") ?? "") ? query.get("window") : "minute";
}

/* Radio buttons for the window. The choice is part of the address. */
export function windowChoice(chosen, hrefOf) {
    const choices = Object.keys(WINDOWS).map((name) => el("label", {},
        el("input", { type: "radio", name: "window", value: name, checked: name === chosen,
            onchange: () => location.replace(hrefOf(name)) }), ` Last ${name}`));
    return el("fieldset", { class: "row" }, el("legend", {}, "Time"), choices);
}

/* ---- the figures at the top ---- */

class Tiles {
    constructor(titles) {
        this.values = titles.map(() => el("dd"));
        this.notes = titles.map(() => el("small"));
        this.element = el("dl", { class: "tiles" }, titles.map((title, i) =>
            el("div", {}, el("dt", {}, title, this.notes[i]), this.values[i])));
    }

    update(texts) {
        texts.forEach((text, i) => say(this.values[i], text));
    }

    remark(number, text) {
        say(this.notes[number], text);
    }
}

const TILES = ["Checks a second", "Denied", "Median latency", "p99 latency", "Callers limited",
    "Burst blocks"];
const CALLERS_LIMITED = TILES.indexOf("Callers limited");

/* The sum over the rules in force: an identifier limited by two rules counts twice. Some rules may
 * have no count. */
function limitedOf(rules, window) {
    const counts = rules.filter((rule) => !rule.shadow)
        .map((rule) => rule[window].callers_limited);
    const sum = counts.reduce((all, one) => all + (one ?? 0), 0);
    if (counts.every((one) => typeof one === "number"))
        return count(sum);
    return sum > 0 ? `${count(sum)} or more` : NONE;
}

function figures(stats, window) {
    const all = stats.decisions[window];
    const seconds = Math.max(1, Math.min(WINDOWS[window].seconds, stats.uptime_s));
    return [rate(all.checks / seconds), share(all.hit_rate),
        latency(all.latency_us?.p50), latency(all.latency_us?.p99),
        limitedOf(stats.rules, window), count(all.burst_blocks)];
}

/* ---- the curve ---- */

const ALL = "", BY_RULE = "/by-rule"; /* no rule has this name */

export function linesOf(series, isShadow = false) {
    const lines = [{ name: "Allowed", style: "allowed", values: series.allowed }];
    if (!isShadow)
        lines.push({ name: "Denied", style: "denied", values: series.denied });
    if (series.shadow_denied?.some((value) => value > 0) || isShadow)
        lines.push({ name: "Would be denied", style: "would", values: series.shadow_denied });
    return lines;
}

function deniedByRule(rules, window) {
    const most = [...rules].sort((a, b) => b[window].denied - a[window].denied).slice(0, OTHERS);
    return most.map((rule, i) =>
        ({ name: rule.rule, style: `other${i}`, values: rule[window].series.denied }));
}

function curveOf(stats, window, shown) {
    const { series } = stats.decisions[window];
    const one = stats.rules.find((rule) => rule.rule === shown);
    let lines = linesOf(one ? one[window].series : series, one?.shadow);
    if (shown === BY_RULE && stats.rules.length)
        lines = deniedByRule(stats.rules, window);
    return steadied({ lines, stepS: series.step_s, endUs: series.end_us });
}

/* Leaves out the second that is not over yet: it would look like a sudden drop. */
export function steadied(curve) {
    if (curve.stepS > 1)
        return curve;
    const lines = curve.lines.map((line) => ({ ...line, values: line.values.slice(0, -1) }));
    return { lines, stepS: curve.stepS, endUs: curve.endUs - curve.stepS * 1e6 };
}

/* Offers the rules in force, and keeps the one that is chosen. */
function offerRules(list, rules) {
    const wanted = [[ALL, "All decisions"], [BY_RULE, "Denied, by rule"],
        ...rules.map(({ rule }) => [rule, rule])];
    const now = Array.from(list.options, (option) => option.value);
    if (now.join("\n") === wanted.map(([value]) => value).join("\n"))
        return;
    const { value } = list;
    list.replaceChildren(...wanted.map(([name, text]) => el("option", { value: name }, text)));
    list.value = wanted.some(([name]) => name === value) ? value : ALL;
}

/* ---- tables ---- */

function sayRule(cell, rule) {
    sayLink(cell, ruleHref(rule.rule), rule.rule);
    const has = cell.children.length > 1;
    if (rule.shadow && !has)
        cell.append(el("span", { class: "tag" }, "shadow"));
    else if (!rule.shadow && has)
        cell.lastChild.remove();
}

function ruleTable(windowOf) {
    const of = (name) => (rule) => rule[windowOf()][name];
    const number = (title, name, kind = "") => ({ title, kind: `number ${kind}`, sort: of(name),
        text: (rule) => count(of(name)(rule)) });
    const p99 = (rule) => of("latency_us")(rule)?.p99;
    const denied = (rule) => of("denied")(rule) + of("shadow_denied")(rule);
    return new Table({
        caption: "Rules, by what was denied. A shadow rule only says what it would do.",
        key: (rule) => rule.rule, sort: "Denied", empty: "There are no rules.",
        columns: [
            { title: "Rule", fill: sayRule, sort: (rule) => rule.rule },
            { title: "Limit", text: limitOf, kind: "wide" },
            number("Checks", "checks"),
            { title: "Denied", text: (rule) => count(denied(rule)), sort: denied, kind: "number" },
            { title: "Hit rate", fill: (cell, rule) => sayHits(cell, of("hit_rate")(rule)),
                sort: of("hit_rate"), kind: "number" },
            number("Callers", "callers", "wide"), number("Limited", "callers_limited", "wide"),
            { title: "p99", text: (rule) => latency(p99(rule)), sort: p99, kind: "number wide" },
        ],
    });
}

/* Says which rules the figures are of, if not of all. */
const partOf = ({ rules, rules_total: total }) =>
    (total > rules.length ? `${count(rules.length)} busiest of ${count(total)} rules` : "");

/* The link to a rule that is not among the busiest. */
function ruleForm() {
    const input = plainInput("rule", "", { required: true });
    const open = (event) => {
        event.preventDefault();
        location.hash = ruleHref(input.value.trim());
    };
    return el("form", { class: "row", hidden: true, "aria-label": "Another rule", onsubmit: open },
        field("Another rule", input), el("button", {}, "Open"));
}

function latencyTable() {
    return new Table({
        caption: "How long a request waited for its decision, the store included.",
        key: (row) => row.name, empty: "Nothing was measured in this time.",
        columns: [
            { title: "Share of requests", text: (row) => row.name },
            { title: "At most", kind: "number",
                fill: (cell, row) => sayShare(cell, row.part, latency(row.us)) },
        ],
    });
}

function latencyRows(figures) {
    if (!figures)
        return [];
    const names = { p50: "50 %", p95: "95 %", p99: "99 %", p999: "99.9 %" };
    return Object.entries(names).map(([key, name]) =>
        ({ name, us: figures[key], part: figures[key] / figures.p999 }));
}

/* `error` is how much too high a count may be. */
const countOf = (row) =>
    count(row.count) + (row.error ? ` (−${count(row.error)})` : "");

function sayIdentifier(cell, row) {
    const who = whoOf(row, row.per.every((name) => name === "global"));
    const problem = lookProblem(row);
    if (problem)
        sayPlain(cell, cut(who), `${visible(who)} – ${problem}`);
    else
        sayLink(cell, lookHref(row), cut(who), visible(who));
}

/* One row for each rule and identifier, the most often denied first. */
export function topTable(caption, hasRule) {
    return new Table({
        caption, key: (row) => JSON.stringify([row.rule, row.tenant, row.identifier]),
        columns: [{ title: "Identifier", fill: sayIdentifier },
            ...(hasRule ? [{ title: "Rule", fill: sayRule }] : []),
            { title: "Count", text: countOf, kind: "number" }],
    });
}

export const topRows = ({ rule, per, shadow, ...rest }, list, areHashed) =>
    rest[list].map((row) => ({ ...row, rule, per, shadow, areHashed }));

/* Where callers are not counted, identifiers are not kept either: an empty list then means
 * unknown. */
export function updateTop(table, rows, isKnown) {
    say(table.empty, isKnown ? "Nobody." : "Not known: identifiers are not kept.");
    table.update(rows);
}

function topOf({ rules, identifiers_hashed: areHashed }) {
    return rules.flatMap((rule) => topRows(rule, "top_denied", areHashed))
        .sort((a, b) => b.count - a.count).slice(0, 10);
}

function burstTable(windowOf) {
    const number = (name) => (rule) => count(rule[windowOf()][name]);
    return new Table({
        caption: "Rules with a burst guard: how often it has warned and blocked.",
        key: (rule) => rule.rule, empty: "No rule has a burst guard.",
        columns: [
            { title: "Rule", fill: sayRule },
            { title: "Warnings", text: number("burst_warnings"), kind: "number" },
            { title: "Blocks", text: number("burst_blocks"), kind: "number" },
        ],
    });
}

function factTable() {
    return new Table({
        caption: "The store of the counts, and this server.", key: (row) => row[0],
        columns: [{ title: "What", text: (row) => row[0] },
            { title: "State", text: (row) => visible(row[1]) }],
    });
}

/* A table is made for half as many keys as it has slots. With a Redis store it is the table that
 * decides while Redis does not answer. */
function tableRows(table, kind) {
    const where = kind === "redis" ? ", in the table for when Redis is away" : "";
    return [[`Counts kept${where}`, `${count(table.live)} of ${count(table.slots / 2)}`],
        [`Limiting now${where}`, count(table.limiting)],
        [`Forgotten for want of room${where}`, count(table.evictions)],
        [`Refused for want of room${where}`, count(table.full)]];
}

function factRows(stats) {
    const { store, connections, audit } = stats, { table } = store;
    const list = (numbers) => Object.entries(numbers)
        .map(([name, number]) => `${name} ${count(number)}`).join(", ");
    const rows = [["Store", store.name],
        ["Health", store.healthy ? "✓ healthy" : `✗ failing: ${store.why ?? "no reason given"}`]];
    if (table)
        rows.push(...tableRows(table, store.kind));
    if (store.calls)
        rows.push(["Calls to it", list(store.calls)], ["Breakers", list(store.breakers)]);
    rows.push(["Connections", list(connections)], ["Running for", span(stats.uptime_s)],
        ["Audit lines", list(audit)]);
    return rows;
}

/* ---- the view ---- */

export function show(view, { query, signal }) {
    const window = chosenWindow(query);
    const windowOf = () => window;
    const tiles = new Tiles(TILES);
    const curve = new Curve(`Allowed and denied over the last ${window}`, signal);
    const shown = select([[ALL, "All decisions"]], ALL, { onchange: () => update() });
    const rules = ruleTable(windowOf), times = latencyTable(), bursts = burstTable(windowOf);
    const top = topTable("Denied most often, in the last half to full hour.", true);
    const facts = factTable(), events = eventTable("The newest events.");
    const [more, ofTop, ofBursts] = [0, 1, 2].map(() => el("p", { class: "empty" }));
    const another = ruleForm();
    let stats = null;

    function update() {
        if (!stats)
            return;
        tiles.update(figures(stats, window));
        offerRules(shown, stats.rules);
        curve.update(curveOf(stats, window, shown.value));
        rules.update(stats.rules);
        sayPart();
        times.update(latencyRows(stats.decisions[window].latency_us));
        bursts.update(stats.rules.filter((rule) => rule.guarded));
        updateTop(top, topOf(stats), stats.rules.every((rule) => rule[window].callers !== null));
        facts.update(factRows(stats));
    }

    function sayPart() {
        const words = partOf(stats);
        another.hidden = !words;
        say(more, words && `The ${words}.`);
        say(ofTop, words && `Only of the ${words}.`);
        say(ofBursts, words && `Only of the ${words}.`);
        tiles.remark(CALLERS_LIMITED, words && `by the ${words}`);
    }

    view.append(el("h1", {}, "Overview"), windowChoice(window, (name) => `#/?window=${name}`),
        tiles.element,
        part("Over time", field("Show", shown), curve.element),
        part("Rules", rules.element, more, another),
        el("div", { class: "two" },
            el("div", {}, part("Top limited", top.element, ofTop),
                part("Bursts", bursts.element, ofBursts)),
            el("div", {}, part("Latency", times.element), part("Health", facts.element))),
        part("Recent events", events.element,
            el("p", {}, el("a", { href: "#/audit" }, "All events"))));
    repeat(async () => {
        stats = await api.stats({ window, series: "true", limit: RULES }, signal);
        update();
    }, WINDOWS[window].everyMs, signal);
    repeat(async () => events.update((await api.audit({ limit: EVENTS }, signal)).events),
        EVENTS_EVERY_MS, signal);
}

