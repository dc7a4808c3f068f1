/* The router of the views, and the token dialog.
 *
 *   #/   #/rule/NAME   #/look?user=u1   #/audit?event=…   #/edit/NAME
 *
 * A view needs only its address, so that it can be sent to a colleague. Leaving a view aborts its
 * signal, and with it all its requests. */
import * as api from "./api.js";
import { closeDialogs, el, field } from "./dom.js";
import * as audit from "./audit.js";
import * as edit from "./edit.js";
import * as live from "./live.js";
import * as look from "./look.js";
import { tell } from "./poll.js";
import * as rule from "./rule.js";
import { decoded } from "./words.js";

const VIEWS = { "": live, rule, look, audit, edit };
const TITLES = { "": "Overview", rule: "Rule", look: "Look up", audit: "Audit", edit: "Edit" };
let leaving = new AbortController();

function readAddress() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
    const [name = "", ...parts] = path.split("/").map(decoded);
    return { name: Object.hasOwn(VIEWS, name) ? name : "", parts: parts.filter(Boolean),
        query: new URLSearchParams(query) };
}

/* Ends the view that is shown, and makes an empty one with a signal of its own. */
function enter() {
    leaving.abort();
    leaving = new AbortController();
    closeDialogs();
    const view = document.getElementById("main");
    view.replaceChildren();
    return { view, signal: leaving.signal };
}

function mark(name, parts = []) {
    for (const link of document.querySelectorAll("nav a")) {
        if (link.dataset.view === name && parts.length === 0)
            link.setAttribute("aria-current", "page");
        else
            link.removeAttribute("aria-current");
    }
    document.getElementById("forget").hidden = !api.hasToken();
}

function show() {
    const { name, parts, query } = readAddress();
    if (name === "rule" && parts.length === 0) {
        location.replace("#/");
        return;
    }
    const { view, signal } = enter();
    mark(name, parts);
    document.title = `${[...parts, TITLES[name]].join(" – ")} – Sluice`;
    VIEWS[name].show(view, { parts, query, signal });
}

/* ---- the token ---- */

function showTokenForm(problem) {
    const { view } = enter();
    const input = el("input", { type: "password", autocomplete: "current-password",
        required: true });
    const submit = (event) => {
        event.preventDefault();
        api.setToken(input.value.trim());
        show();
    };
    api.dropToken();
    mark(null);
    tell("refused", "A token is needed");
    view.append(el("h1", {}, "Who is asking?"),
        el("p", { class: "note bad", role: "alert" }, problem.message),
        el("p", {}, "The admin's token may change things, the reader's may look. " +
            "It is kept until this tab is closed."),
        el("form", { "aria-label": "Token", onsubmit: submit },
            /* for password managers */
            el("input", { autocomplete: "username", value: "sluice", hidden: true }),
            field("Token", input), el("p", {}, el("button", { class: "strong" }, "Go on"))));
    input.focus();
}

/* ---- the start ---- */

/* After a change of view the keyboard is at its beginning. Where only the query changed, an input
 * of the view did that, and its successor has the focus. */
function follow(event) {
    const viewOf = (address) => new URL(address).hash.split("?", 1)[0];
    const main = document.getElementById("main");
    if (location.hash === "#main") { /* the link past the navigation */
        history.replaceState(null, "", event.oldURL);
        main.focus();
        return;
    }
    const { name } = document.activeElement;
    show();
    if (viewOf(event.oldURL) !== viewOf(event.newURL) || !name) {
        main.focus({ preventScroll: true });
        scrollTo(0, 0);
        return;
    }
    const named = `[name="${name}"]`;
    (main.querySelector(`${named}:checked`) ?? main.querySelector(named))?.focus();
}

api.onRefused(showTokenForm);
addEventListener("hashchange", follow);
document.getElementById("forget").addEventListener("click", () => {
    api.dropToken();
    show();
});
show();
