/* The look-up of one identifier: is it limited, why, what remains, until when; and actions on
 * it. */
import * as api from "./api.js";
import { button, confirmed, el, field, Note, part, plainInput, say, sayLink, visit }
    from "./dom.js";
import { Exemptions } from "./exempt.js";
import { repeat } from "./poll.js";
import { Table, sayShare } from "./table.js";
import { NONE, REASONS, count, cut, momentOf, ruleHref, share, span, valuesOf }
    from "./words.js";

const FIELDS = { tenant: "Tenant", user: "User", ip: "Address (IP)", client: "Client",
    resource: "Resource", rule: "Rule" };
const EVERY_MS = 2000, SELDOM_MS = 10000;

/* ---- the identifier ---- */

/* Why a row of a rule's top list cannot be looked up: by the text in the row, the server would find
 * another identifier, which is not limited. Null: it can be. */
export function lookProblem({ per, tenant, identifier, areHashed }) {
    const isPlain = per.every((name) => name === "global" || name === "tenant");
    if ((areHashed && !isPlain) || identifier.includes("%sha256="))
        return "This is a digest, which cannot be looked up: give the name.";
    if (`${tenant}${identifier}`.includes("\ufffd"))
        return "These were bytes that are no text, which cannot be looked up.";
    return null;
}

/* A row of a rule's top list as a query: the identifier has the values of `per`, in order. */
export function lookHref(row) {
    const request = { rule: row.rule };
    if (row.tenant)
        request.tenant = row.tenant;
    const values = valuesOf(row.identifier, row.per.length);
    row.per.forEach((name, i) => {
        if (name !== "global")
            request[name] = values[i] ?? "";
    });
    return `#/look?${new URLSearchParams(request)}`;
}

const requestOf = (query) =>
    Object.fromEntries([...query].filter(([name, value]) => name && value !== ""));

/* Two inputs for an attribute that has none of its own. */
function otherFields(name = "", value = "") {
    return el("div", { class: "row other" },
        field("Another attribute", plainInput("", name, { "data-other": "name" })),
        field("Its value", plainInput("", value, { "data-other": "value" })));
}

function readForm(form) {
    const request = new URLSearchParams();
    for (const [name, value] of new FormData(form))
        if (name && value !== "")
            request.set(name, value);
    for (const other of form.querySelectorAll(".other")) {
        const [name, value] = ["name", "value"].map((which) =>
            other.querySelector(`[data-other=${which}]`).value);
        if (name && value !== "")
            request.set(name, value);
    }
    return request;
}

function askForm(request) {
    const given = Object.entries(request).filter(([name]) => !(name in FIELDS));
    const more = el("div", {}, given.map(([name, value]) => otherFields(name, value)));
    const fields = Object.entries(FIELDS).map(([name, title]) =>
        field(title, plainInput(name, request[name] ?? "")));
    if (given.length === 0)
        more.append(otherFields());
    const submit = (event) => {
        event.preventDefault();
        visit(`#/look?${readForm(event.target)}`);
    };
    return el("form", { "aria-label": "Whom to look up", onsubmit: submit },
        el("div", { class: "row" }, fields), more,
        el("p", { class: "row" }, el("button", { class: "strong" }, "Look up"),
            button("One more attribute", () => more.append(otherFields()))));
}

/* ---- its state in each rule ---- */

function sayState(cell, row) {
    cell.dataset.allowed = row.allowed;
    const word = row.allowed ? "✓ passes" : row.shadow ? "◇ would be denied" : "✗ limited";
    const reason = row.unlimited ? "its tier has no limit here" : REASONS[row.reason] ?? row.reason;
    const why = row.reason === "ok" ? "" : `: ${reason}`;
    say(cell, word + why);
}

/* The answer came at `heardMs`; some of the time has passed since. */
function untilOf(row) {
    const nowMs = api.serverNowMs();
    const print = (us) => `${momentOf(us)} (in ${span((us / 1000 - nowMs) / 1000)})`;
    if (!row.allowed && row.retry_after_us < 0)
        return "never";
    if (!row.allowed && row.retry_after_us !== null)
        return `passes again ${print(row.heardMs * 1000 + row.retry_after_us)}`;
    if (row.in_use > 0 && row.reset_at_us > 0)
        return `all of it back ${print(row.reset_at_us)}`;
    return NONE;
}

function sayRule(cell, { rule, shadow }) {
    sayLink(cell, ruleHref(rule), shadow ? `${rule} (shadow)` : rule);
}

function sayRemaining(cell, row) {
    const isKnown = row.remaining >= 0; /* but not for undefined */
    sayShare(cell, isKnown && row.limit ? row.remaining / row.limit : 0,
        isKnown ? `${count(row.remaining)} of ${count(row.limit)}` : NONE);
}

function sayReset(cell, row, reset) {
    if (!cell.firstChild)
        cell.append(button("Reset", () => reset(cell.row), { "aria-label": `Reset ${row.rule}` }));
    cell.row = row;
}

function standTable(reset) {
    return new Table({
        caption: "Every rule that counts by what was given. Looking counts nothing.",
        key: (row) => row.rule, empty: "No rule counts by this.", cards: true,
        columns: [
            { title: "Rule", fill: sayRule },
            { title: "State", fill: sayState },
            { title: "Remaining", fill: sayRemaining, kind: "number" },
            { title: "Until", text: untilOf },
            { title: "Asked", text: (row) => (row.matches ? "yes" : "not by this request") },
            { title: "Change", fill: (cell, row) => sayReset(cell, row, reset) },
        ],
    });
}

const printed = (entries) => entries.map(([name, value]) => `${name} ${cut(value, 32)}`)
    .join(", ") || "everybody";

/* The identifier in a query, without the rule and the resource. */
const nameOf = (request) => printed(Object.entries(request)
    .filter(([name]) => name !== "rule" && name !== "resource"));

/* The attributes by which a rule counts, of all that were given: `per`, and the tenant unless the
 * rule spans tenants. */
function countedOf(request, per) {
    if (!per)
        return nameOf(request);
    const spans = per.every((name) => name === "ip" || name === "global");
    return printed(Object.entries(request)
        .filter(([name]) => per.includes(name) || (name === "tenant" && !spans)));
}

/* ---- the user's record ---- */

function userText(facts) {
    if (!facts.known)
        return "Nothing is known of this user.";
    const limits = Object.entries(facts.limits ?? {})
        .map(([rule, numbers]) => `${rule} ${JSON.stringify(numbers)}`);
    return `Tier ${facts.tier ?? "none"}, trust ${share(facts.trust.score)}` +
        `${limits.length ? `, own limits: ${limits.join("; ")}` : ""}.`;
}

/* ---- the view ---- */

export function show(view, { query, signal }) {
    const request = requestOf(query);
    const note = new Note();
    const isAsked = Object.keys(request).length > 0;
    view.append(el("h1", {}, "Look up an identifier"), askForm(request), note.element);
    if (isAsked)
        showStand(view, { request, note, signal });
}

function showStand(view, { request, note, signal }) {
    const verdict = el("p", { class: "verdict", "aria-live": "polite" });
    const known = el("p");
    const stand = standTable(reset);
    const exemptions = new Exemptions(request, note, () => now());
    const standing = part(`How it stands: ${nameOf(request)}`, verdict, stand.element, known);
    view.append(standing, part("Exemption", exemptions.element));

    async function reset(row) {
        const whom = countedOf(request, row.per);
        const text = `What ${row.rule} has counted for ${whom} is forgotten, ` +
            "and so is a block.";
        if (!await confirmed({ title: "Reset the counts?", action: "Reset", text }))
            return;
        try {
            const answer = await api.reset({ ...request, rule: row.rule });
            note.good(`Forgotten: ${answer.reset.join(", ")}.`);
        } catch (problem) {
            note.bad(problem);
        }
        now();
    }

    async function ask() {
        const answer = await api.look(request, signal);
        const heardMs = api.serverNowMs();
        const rows = answer.rules.map((row) => ({ ...row, heardMs }));
        const limiting = rows.filter((row) => !row.allowed && !row.shadow);
        stand.update(rows);
        exemptions.hear(answer.exempt, () => seldom.now());
        say(verdict, verdictOf(answer.exempt, limiting));
        verdict.dataset.kind = answer.exempt ? "exempt" : limiting.length ? "limited" : "passes";
    }

    function refuse(problem) {
        standing.hidden = true;
        note.bad(problem);
    }

    const seldom = repeat(() => exemptions.update(signal), SELDOM_MS, signal);
    const often = repeat(ask, EVERY_MS, signal, refuse);
    showUser(known, request, signal);
    countDown(stand, signal);
    function now() {
        often.now();
        seldom.now();
    }
}

/* Some names cannot stand in a path: the server refuses controls, browsers remove dots. */
function showUser(known, { user, tenant }, signal) {
    if (!user || /^\.\.?$|\p{Cc}/u.test(user))
        return;
    repeat(async () => say(known, userText(await api.user(user, tenant, signal))), SELDOM_MS,
        signal, (problem) => say(known, problem.message));
}

/* Counts the waits down between two answers. */
function countDown(stand, signal) {
    const tick = () => {
        if (stand.items.length > 0)
            stand.update(stand.items);
    };
    const ticking = setInterval(tick, 1000);
    signal.addEventListener("abort", () => clearInterval(ticking), { once: true });
}

function verdictOf(isExempt, limiting) {
    if (isExempt)
        return "Exempt: its requests pass, and nothing is counted.";
    if (limiting.length === 0)
        return "Not limited.";
    return `Limited by ${limiting.map((row) => row.rule).join(", ")}.`;
}
