/* A rule's text: changed, checked, tried as a shadow, put in force, taken back.
 *
 * The JSON is the rule; the inputs above it are its most used members, and write into it. The
 * server checks it, by the very code that will read it: nothing is judged here. */
import * as api from "./api.js";
import { button, confirmed, el, field, Note, part, plainInput, say } from "./dom.js";
import { tell } from "./poll.js";
import { PREVIEW } from "./rule.js";
import { ruleHref } from "./words.js";

const NEW_RULE = { resource: "/api/*", per: "user", limit: "100/1m" };
const FIELDS = {
    limit: ["Limit", "requests / time, as in 100/1m"],
    capacity: ["Capacity", "how many at once, or in a window"],
    window: ["Window", "as in 10s, 15m or 24h"],
    refill_rate: ["Refill", "how many come back in a second"],
};

function parsed(text) {
    try {
        const value = JSON.parse(text);
        return value && typeof value === "object" && !Array.isArray(value) ? value : null;
    } catch {
        return null;
    }
}

const printed = (rule) => JSON.stringify(rule, null, 2);

/* A number where it is one; a window such as 10s and a limit such as 5/1m stay texts. */
const memberOf = (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/* The inputs and the text, kept the same whichever is written in. */
class Form {
    constructor() {
        this.inputs = Object.fromEntries(Object.keys(FIELDS).map((name) =>
            [name, plainInput(name, "", { oninput: () => this.write(name) })]));
        this.rows = Object.fromEntries(Object.entries(FIELDS).map(([name, [title, hint]]) =>
            [name, field(title, this.inputs[name], hint)]));
        this.shadow = el("input", { type: "checkbox", name: "shadow",
            onchange: () => this.write("shadow") });
        this.text = el("textarea", { name: "rule", rows: "16", spellcheck: "false",
            autocomplete: "off", oninput: () => this.read() });
        this.wrong = el("p", { class: "note bad", role: "alert", hidden: true },
            "This is no JSON object yet.");
        this.element = el("div", {},
            el("div", { class: "row" }, Object.values(this.rows),
                field("Shadow", this.shadow, "it only says what it would deny")),
            field("The whole rule, as JSON", this.text), this.wrong);
    }

    load(rule) {
        this.text.value = printed(rule);
        this.read();
    }

    /* From the text into the inputs. One that the rule does not have is not shown. */
    read() {
        const rule = parsed(this.text.value);
        this.wrong.hidden = rule !== null;
        if (!rule)
            return;
        for (const [name, input] of Object.entries(this.inputs)) {
            this.rows[name].hidden = !(name in rule);
            input.value = rule[name] ?? "";
        }
        this.shadow.checked = rule.shadow === true;
    }

    /* From an input into the text. */
    write(name) {
        const rule = parsed(this.text.value);
        if (!rule)
            return;
        if (name === "shadow" && !this.shadow.checked)
            delete rule.shadow;
        else if (name === "shadow")
            rule.shadow = true;
        else
            rule[name] = memberOf(this.inputs[name].value);
        this.text.value = printed(rule);
    }
}

/* ---- what the server said ---- */

const COUNTS = {
    kept: "What was counted carries over.",
    afresh: "Its counts start afresh.",
    new: "It starts without counts.",
};

function told(note, words, answer, ...more) {
    const warnings = answer.warnings.map((one) => el("li", {}, one));
    const list = warnings.length > 0 &&
        el("div", {}, el("p", {}, "Worth a look:"), el("ul", {}, warnings));
    note.good(`${words} ${COUNTS[answer.counts] ?? ""}`.trim(), list, ...more);
}

/* ---- the view ---- */

class Editor {
    constructor(name, signal) {
        this.name = name;
        this.signal = signal;
        this.form = new Form();
        this.note = new Note();
        this.etag = null;
        this.nameInput = plainInput("name", "", { required: true });
        this.origin = el("p");
        this.tryIt = button("Try as shadow first", () => this.preview());
        this.undoIt = button("Undo", () => this.undo(), { hidden: true });
        this.takeIt = button("Take over the preview's text", () => this.takePreview(),
            { hidden: true });
        this.endIt = button("End the preview", () => this.endPreview(), { hidden: true });
        this.buttons = el("p", { class: "row" }, button("Check", () => this.check()), this.tryIt,
            button("Put in force", () => this.enforce(), { class: "strong" }),
            this.undoIt, this.takeIt, this.endIt);
    }

    get target() {
        return this.name ?? this.nameInput.value.trim();
    }

    /* What is in force under its name, if anything, and its preview. */
    async load(isFirst) {
        try {
            const rules = await api.rules(this.signal);
            this.show(rules, isFirst);
            tell("live", "Ready");
        } catch (problem) {
            if (!this.signal.aborted)
                this.note.bad(problem);
        }
    }

    show(rules, isFirst) {
        const rule = this.target && rules.get(this.target);
        this.before = rule ?? null;
        this.etag = rule?.etag ?? null;
        this.previewed = rules.get(this.target + PREVIEW) ?? null;
        if (isFirst)
            this.form.load(rule?.rule ?? NEW_RULE);
        say(this.origin, originOf(rule, this.name));
        this.undoIt.hidden = rule?.source !== "api";
        say(this.undoIt, rule?.replaces ? "Undo: back to the rules file" : "Undo: delete it");
        this.takeIt.hidden = this.endIt.hidden = !this.previewed;
        this.tryIt.hidden = this.target.endsWith(PREVIEW);
    }

    /* `act` gives an answer; a problem is shown and nothing else happens. */
    async attempt(act, finish) {
        if (!this.target) {
            this.note.show("bad", "Give the rule a name.");
            this.nameInput.focus();
            return;
        }
        try {
            const answer = await act();
            finish(answer);
            await this.load(false);
        } catch (problem) {
            this.note.bad(problem);
        }
    }

    check() {
        const { value: text } = this.form.text;
        return this.attempt(() => api.putRule(this.target, { text, dryRun: true }),
            (answer) => told(this.note, `It is good, and would ${answer.would} the rule.`, answer));
    }

    preview() {
        const rule = parsed(this.form.text.value);
        if (!rule)
            return this.check(); /* the server says what is wrong with it */
        const { name: _, ...rest } = rule;
        const to = this.target + PREVIEW;
        const way = el("p", {},
            el("a", { href: ruleHref(this.target) }, "See both beside each other"));
        return this.attempt(() => api.putRule(to, { text: printed({ ...rest, shadow: true }) }),
            (answer) => told(this.note, `It is tried as ${to}, and denies nothing.`, answer, way));
    }

    async enforce() {
        const words = this.etag ? `${this.target} is replaced at once, for every request.`
            : `${this.target} is asked about every request from now on.`;
        const question = { title: "Put it in force?", action: "Put in force", text: words };
        if (this.target && !await confirmed(question))
            return;
        const { value: text } = this.form.text;
        const way = el("p", {}, el("a", { href: ruleHref(this.target) }, "Look at it"));
        await this.attempt(() => api.putRule(this.target, { text, etag: this.etag }),
            (answer) => told(this.note, `${this.target} is in force.`, answer, way));
    }

    async undo() {
        const { target, etag, before: { replaces } } = this;
        const words = `${target} is ${replaces ? "again what the rules file says" : "gone"}.`;
        if (!await confirmed({ title: "Undo?", action: "Undo", text: words }))
            return;
        await this.attempt(() => api.dropRule(target, { undo: true, etag }), (answer) => {
            this.note.good(words);
            if (answer.now)
                this.form.load(answer.now.rule);
        });
    }

    takePreview() {
        const { name: _, shadow: __, ...rule } = this.previewed.rule;
        this.form.load(rule);
        this.note.good("This is what the preview says. It is not in force yet.");
    }

    async endPreview() {
        const to = this.target + PREVIEW;
        const question = { title: "End the preview?", action: "End it", text: `${to} is deleted.` };
        if (await confirmed(question))
            await this.attempt(() => api.dropRule(to), () => this.note.good(`${to} is gone.`));
    }
}

function originOf(rule, name) {
    if (!rule)
        return name ? "There is no rule of this name yet." : "";
    if (rule.source === "file")
        return "It comes from the rules file. A change here lies on top of it, and can be undone.";
    return rule.replaces ? "It was changed here, in place of the rules file's."
        : "It was made here.";
}

export function show(view, { parts, signal }) {
    const name = parts[0] ?? null;
    const editor = new Editor(name, signal);
    const title = name ? el("h1", {}, "Edit rule ", el("bdi", {}, name)) : el("h1", {}, "New rule");
    const naming = name ? "" : field("Name", editor.nameInput, "letters, digits, . _ and -");
    view.append(title, editor.origin, naming,
        part("Its text", editor.form.element, editor.buttons, editor.note.element));
    editor.nameInput.addEventListener("change", () => editor.load(false));
    editor.load(true);
}
