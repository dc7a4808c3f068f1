/* What happened: denials, bursts, changes, the store. */
import * as api from "./api.js";
import { el, field, part, say, sayLink, select } from "./dom.js";
import { repeat } from "./poll.js";
import { Table } from "./table.js";
import { NONE, count, cut, momentOfText, ruleHref, visible, whoOf } from "./words.js";

const EVENTS = ["rate_limit_exceeded", "sliding_window_limit_exceeded", "burst_detected_warning", "burst_detected_blocked",
    "rate_limit_config_updated", "rate_limit_whitelist_added", "rate_limit_whitelist_removed", "rate_limit_reset",
    "store_unavailable", "store_recovered"];
const SEVERITIES = ["info", "warning", "error"];
const MARKS = { info: "•", warning: "⚠", error: "✖" };
const KNOWN = new Set(["at", "event", "severity", "tenant", "identifier", "limit_type", "resource", "rule", "chain"]);
const EVERY_MS = 2000;

/* What an event tells besides: `capacity: 5, retry_after: 3`. */
function figuresOf(event) {
    const rest = Object.entries(event).filter(([name, value]) => !KNOWN.has(name) && value !== null);
    const texts = rest.map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
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

export function eventTable(caption) {
    return new Table({
        caption, empty: "Nothing has happened yet.", cards: true,
        key: (event) => event.key ?? JSON.stringify(event),
        columns: [
            { title: "Time", text: (event) => momentOfText(event.at), kind: "whole" },
            { title: "Severity", fill: saySeverity, kind: "whole" },
            { title: "Event", text: (event) => event.event, kind: "whole" },
            { title: "Rule", kind: "whole", fill: (cell, event) => {
                if (event.rule)
                    sayLink(cell, ruleHref(event.rule), event.rule);
                else
                    say(cell, NONE);
            } },
            { title: "Identifier", fill: (cell, event) => sayWhole(cell, event.identifier ? whoOf(event, event.limit_type === "global") : event.tenant ?? NONE, 32) },
            { title: "Figures", fill: (cell, event) => sayWhole(cell, figuresOf(event), 100) },
        ],
    });
}

/* ---- the view ---- */

function filterForm(query, act) {
    const list = (names) => [["", "any"], ...names.map((name) => [name, name])];
    const text = (name) => el("input", { name, value: query.get(name) ?? "", autocomplete: "off", spellcheck: "false" });
    const inputs = {
        event: select(list(EVENTS), query.get("event") ?? "", { name: "event" }),
        severity: select(list(SEVERITIES), query.get("severity") ?? "", { name: "severity" }),
        rule: text("rule"), tenant: text("tenant"), identifier: text("identifier"),
        limit: select(["100", "300", "1000"].map((n) => [n, count(Number(n))]), query.get("limit") ?? "100", { name: "limit" }),
    };
    const titles = { event: "Event", severity: "Severity", rule: "Rule", tenant: "Tenant", identifier: "Identifier",
        limit: "At most" };
    const hints = { identifier: "its values with : between, %3A for one within" };
    const form = el("form", { class: "row", "aria-label": "Which events", onsubmit: (event) => {
        event.preventDefault();
        act(Object.fromEntries(new FormData(form)));
    } }, Object.entries(inputs).map(([name, input]) => field(titles[name], input, hints[name])), el("button", {}, "Show"));
    return form;
}

export function show(view, { query, signal }) {
    const events = eventTable("Newest first. Repeats within a second are one line with a count.");
    const kept = el("p", { class: "empty" });
    const form = filterForm(query, (values) => {
        const given = Object.entries(values).filter(([, value]) => value !== "");
        location.hash = `#/audit?${new URLSearchParams(given)}`;
    });
    view.append(el("h1", {}, "Audit"), form, part("Events", events.element, kept));
    const asked = Object.fromEntries(query);
    repeat(async () => {
        const answer = await api.audit(asked, signal);
        events.update(answer.events);
        say(kept, `${count(answer.events.length)} shown; the newest ${count(answer.kept)} are kept here, ` +
            `${count(answer.written)} were written, ${count(answer.dropped)} dropped.`);
    }, EVERY_MS, signal);
}
