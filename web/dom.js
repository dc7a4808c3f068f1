/* Makes elements out of values. Values from the server are inserted as text: no function here
 * inserts HTML. */

/* el("a", { href: "#/", onclick: f }, "words", child): null and false children are left out. */
export function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        give(element, name, value);
    element.append(...children.flat().filter((child) => child !== null && child !== false));
    return element;
}

function give(element, name, value) {
    if (name.startsWith("on"))
        element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked")
        element[name] = value;
    else if (value === true)
        element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
        element.setAttribute(name, value);
}

/* Writes only a text that differs: screen readers and selections are not disturbed by texts that
 * stayed the same. */
export function say(element, text) {
    if (element.textContent !== text)
        element.textContent = text;
}

/* The one link of a cell, kept from one update to the next: it may have the focus. */
export function sayLink(holder, href, text, title = null) {
    let link = holder.querySelector(":scope > a");
    if (!link) {
        link = el("a");
        holder.replaceChildren(link);
    }
    if (link.getAttribute("href") !== href)
        link.setAttribute("href", href);
    if (link.title !== (title ?? ""))
        link.title = title ?? "";
    say(link, text);
    return link;
}

/* A text that is no link, in a column of links; the title says why. */
export function sayPlain(holder, text, title) {
    let plain = holder.querySelector(":scope > span");
    if (!plain) {
        plain = el("span");
        holder.replaceChildren(plain);
    }
    plain.title = title;
    say(plain, text);
}

/* Goes to a view, and opens it anew if it is shown already: its first request may have been
 * refused. */
export function visit(address) {
    const { href: oldURL, hash } = location;
    if (hash === address)
        dispatchEvent(new HashChangeEvent("hashchange", { oldURL, newURL: oldURL }));
    else
        location.hash = address;
}

let numbers = 0;

/* A label with its input. `hint` is read with it. */
export function field(label, input, hint = null) {
    input.id ||= `in-${++numbers}`;
    const below = hint && el("small", { id: `${input.id}-hint` }, hint);
    if (below)
        input.setAttribute("aria-describedby", below.id);
    return el("p", { class: "field" }, el("label", { for: input.id }, label), input, below);
}

/* For names and the like, which no browser should complete or correct. */
export function plainInput(name, value = "", more = {}) {
    return el("input", { name, value, autocomplete: "off", autocapitalize: "off",
        spellcheck: "false", ...more });
}

export function button(text, act, attributes = {}) {
    return el("button", { type: "button", onclick: act, ...attributes }, text);
}

export function select(options, chosen, attributes = {}) {
    const list = options.map(([value, text]) =>
        el("option", { value, selected: value === chosen }, text));
    return el("select", attributes, list);
}

/* A part of a view, named by its heading. */
export function part(title, ...children) {
    const id = `part-${++numbers}`;
    return el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);
}

/* Shows a notice; screen readers read it aloud. */
export class Note {
    constructor() {
        this.element = el("div", { class: "notes", "aria-live": "assertive" });
    }

    show(kind, text, ...more) {
        const note = el("div", { class: `note ${kind}` }, el("p", {}, text), ...more);
        this.element.replaceChildren(note);
    }

    good(text, ...more) {
        this.show("good", text, ...more);
    }

    /* A problem as the server sent it, with all its errors. */
    bad(problem, ...more) {
        const errors = (problem.errors ?? []).map((one) =>
            el("li", {}, `${one.subject ? `${one.subject}: ` : ""}${one.detail}`));
        this.show("bad", problem.message, errors.length ? el("ul", {}, errors) : null, ...more);
    }

    clear() {
        this.element.replaceChildren();
    }
}

/* Asks for confirmation. Resolves to the result of `collect`, or to null. The safe button has the
 * focus. */
export function confirmed({ title, text, action, fields = [], collect = () => true }) {
    return new Promise((resolve) => {
        let answer = null;
        const id = `ask-${++numbers}`;
        const agree = (event) => {
            event.preventDefault();
            answer = collect();
            dialog.close();
        };
        const dialog = el("dialog", { "aria-labelledby": id }, el("form", { onsubmit: agree },
            el("h2", { id }, title), el("p", {}, text), ...fields,
            el("p", { class: "row" },
                button("Cancel", () => dialog.close(), { autofocus: fields.length === 0 }),
                el("button", { class: "strong" }, action))));
        dialog.addEventListener("close", () => {
            dialog.remove();
            resolve(answer);
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}

/* The dialog belongs to a view: leaving the view answers no. */
export function closeDialogs() {
    for (const dialog of document.querySelectorAll("dialog[open]"))
        dialog.close();
}
