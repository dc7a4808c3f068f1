/* The audit view: denials, bursts, changes, events of the store. */
import * as api from "./api.js";
import { el, field, Note, part, plainInput, say, sayLink, select, visit } from "./dom.js";
import { repeat } from "./poll.js";
import { Table } from "./table.js";
import { NONE, count, cut, momentOfText, ruleHref, visible, whoOf } from "./words.js";

const EVENTS = [
    "rate_limit_exceeded", "sliding_window_limit_exceeded",
    "burst_detected_warning", "burst_detected_blocked", "rate_limit_config_updated",
    "rate_limit_whitelist_added", "rate_limit_whitelist_removed", "rate_limit_reset",
    "store_unavailable", "store_recovered",
];
const SEVERITIES = ["info", "warning", "error"];
const MARKS = { info: "•", warning: "⚠", error: "✖" };
/* Members that have a column, or are not for people; the others are an event's figures. */
const SHOWN = new Set(["at", "event", "severity", "tenant", "identifier", "limit_type", "resource",
    "rule", "chain"]);
const LIMITS = ["100", "300", "1000"].map((number) => [number, count(Number(number))]);
const EVERY_MS = 2000;

/* An event's figures as text: `capacity: 5, retry_after: 3`. */
function figuresOf(event) {
    const print = (value) => (typeof value === "object" ? JSON.stringify(value) : value);
    const texts = Object.entries(event)
        .filter(([name, value]) => !SHOWN.has(name) && value !== null)
        .map(([name, value]) => `${name}: ${print(value)}`);
    if (event.resource)
        texts.unshift(`resource: ${event.resource}`);
    return texts.join(", ");
}

function saySeverity(cell, event) {
    say(cell, `${MARKS[event.severity] ?? "?"} ${event.severity}`);
    cell.dataset.severity = event.severity;
}

function sayWhole(cell, text, most) {
    say(cell, cut(text, most));
    cell.title = visible(text);
}

function sayWho(cell, event) {
    const isEverybody = event.limit_type === "global";
    sayWhole(cell, event.identifier ? whoOf(event, isEverybody) : event.tenant ?? NONE, 32);
}

function sayRule(cell, event) {
    if (event.rule)
        sayLink(cell, ruleHref(event.rule), event.rule);
    else
        say(cell, NONE);
}

export function eventTable(caption) {
    return new Table({
        caption, empty: "Nothing has happened yet.", cards: true,
        key: (event) => event.key ?? JSON.stringify(event),
        columns: [
            { title: "Time", text: (event) => momentOfText(event.at), kind: "whole" },
            { title: "Severity", fill: saySeverity, kind: "whole" },
            { title: "Event", text: (event) => event.event, kind: "whole" },
            { title: "Rule", fill: sayRule, kind: "whole" },
            { title: "Identifier", fill: sayWho },
            { title: "Figures", fill: (cell, event) => sayWhole(cell, figuresOf(event), 100) },
        ],
    });
}

/* ---- the view ---- */

function filterForm(query, act) {
    const list = (names) => [["", "any"], ...names.map((name) => [name, name])];
    const given = (name) => query.get(name) ?? "";
    const text = (name) => plainInput(name, given(name));
    const fields = [
        field("Event", select(list(EVENTS), given("event"), { name: "event" })),
        field("Severity", select(list(SEVERITIES), given("severity"), { name: "severity" })),
        field("Rule", text("rule")), field("Tenant", text("tenant")),
        field("Identifier", text("identifier"), "of several values, : between, %3A for one within"),
        field("At most", select(LIMITS, given("limit") || LIMITS[0][0], { name: "limit" })),
    ];
    const form = el("form", { class: "row", "aria-label": "Which events", onsubmit: (event) => {
        event.preventDefault();
        act(Object.fromEntries(new FormData(form)));
    } }, fields, el("button", {}, "Show"));
    return form;
}

export function show(view, { query, signal }) {
    const events = eventTable("Newest first. Repeats within a second are one line with a count.");
    const kept = el("p", { class: "empty" }), note = new Note();
    const form = filterForm(query, (values) => {
        const given = Object.entries(values).filter(([, value]) => value !== "");
        visit(`#/audit?${new URLSearchParams(given)}`);
    });
    view.append(el("h1", {}, "Audit"), form, note.element, part("Events", events.element, kept));
    const asked = Object.fromEntries(query);
    repeat(async () => {
        const answer = await api.audit(asked, signal);
        events.update(answer.events);
        const { events: shown, written, dropped } = answer;
        say(kept, `${count(shown.length)} shown; the newest ${count(answer.kept)} are kept here, ` +
            `${count(written)} were written, ${count(dropped)} dropped.`);
    }, EVERY_MS, signal, (problem) => note.bad(problem));
}
