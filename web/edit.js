/* The rule editor: change a rule, check it, try it as a shadow, put it in force, undo it.
 *
 * The JSON is the rule; the inputs above it are its most used members, and write into it. The
 * server checks the rule, by the very code that will read it: the page checks nothing itself. */
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

/* The inputs and the text: a change of one is written into the other. */
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

    /* From the text into the inputs. Inputs of members that the rule does not have are hidden. */
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

/* ---- the server's answers ---- */

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

const NAME_MAX = 64;

/* The rule's name without its tenant. */
const ownName = (name) => name.slice(name.indexOf("/") + 1);

const canBePreviewed = (name) =>
    !name.endsWith(PREVIEW) && ownName(name).length + PREVIEW.length <= NAME_MAX;

/* `rule` and `previewed` are the rule and the preview in force, as this page last read them, or
 * null. Every change sends their tags, so that it never overwrites another person's change unseen.
 * They are read together with the text, when the name changes, and from the answers to the page's
 * own changes, never in between: the tag would be newer than the text. */
class Editor {
    constructor(name, signal) {
        this.name = name;
        this.signal = signal;
        this.form = new Form();
        this.note = new Note();
        this.rule = this.previewed = null;
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

    /* Reads the rule in force under this name, if there is one, and its preview. */
    async load(hasText) {
        const { target } = this;
        this.learn({ rule: null, previewed: null });
        try {
            const rules = await api.rules(this.signal);
            if (target !== this.target)
                return; /* the name was changed meanwhile */
            this.learn({ rule: rules.get(target) ?? null,
                previewed: (target && rules.get(target + PREVIEW)) || null });
            if (!hasText)
                this.form.load(this.rule?.rule ?? NEW_RULE);
            say(this.origin, originOf(this.rule, this.name));
            tell("live", "Ready");
        } catch (problem) {
            if (!this.signal.aborted)
                this.note.bad(problem, button("Ask again", () => this.reload(hasText)));
        }
    }

    reload(hasText) {
        this.note.clear();
        return this.load(hasText);
    }

    learn({ rule = this.rule, previewed = this.previewed }) {
        this.rule = rule;
        this.previewed = previewed;
        this.undoIt.hidden = this.rule?.source !== "api";
        say(this.undoIt, this.rule?.replaces ? "Undo: back to the rules file" : "Undo: delete it");
        this.tryIt.hidden = !canBePreviewed(this.target);
        this.takeIt.hidden = !this.isTried;
        this.endIt.hidden = !this.isTried || this.previewed.source !== "api";
    }

    /* A rule may have the name of a preview without being one. */
    get isTried() {
        return this.previewed?.rule.shadow === true;
    }

    /* Runs `act` and resolves to its answer; a problem is only shown. `refused` is called for a
     * problem that says that the rule was changed meanwhile. */
    async attempt(act, finish, refused = () => this.offerToLoad()) {
        if (!this.target) {
            this.note.show("bad", "Give the rule a name.");
            this.nameInput.focus();
            return;
        }
        try {
            finish(await act());
        } catch (problem) {
            this.note.bad(problem, problem.status === 412 ? refused() : null);
        }
    }

    offerToLoad() {
        const words = this.rule ? "Nothing was changed: the text above is not about what is there."
            : "Nothing was changed: a rule of this name is there, which was not seen here.";
        return el("p", {}, `${words} `,
            button("Load what is in force, drop this text", () => this.reload(false)));
    }

    check() {
        const { value: text } = this.form.text;
        return this.attempt(() => api.putRule(this.target, { text, dryRun: true }),
            (answer) => told(this.note, `It is good, and would ${answer.would} the rule.`, answer));
    }

    preview() {
        const rule = parsed(this.form.text.value);
        if (!rule)
            return this.check(); /* the server answers what is wrong with it */
        const to = this.target + PREVIEW;
        if (this.previewed && !this.isTried)
            return this.note.show("bad", `${to} is a rule in force and no shadow rule: as a ` +
                "preview it would stop limiting. Give one of the two another name.");
        const { name: _, ...rest } = rule, text = printed({ ...rest, shadow: true });
        const way = el("p", {},
            el("a", { href: ruleHref(this.target) }, "See both beside each other"));
        return this.attempt(
            () => api.putRule(to, { text, etag: this.previewed?.etag ?? null }),
            (answer) => {
                this.learn({ previewed: answer });
                told(this.note, `It is tried as ${to}, and denies nothing.`, answer, way);
            }, () => this.offerPreview());
    }

    /* Shows which rule the preview belongs to before it can be replaced. */
    offerPreview() {
        const look = async () => {
            const rules = await api.rules(this.signal);
            this.learn({ previewed: rules.get(this.target + PREVIEW) ?? null });
            this.note.clear();
        };
        return el("p", {}, "Nothing was changed. Somebody else tries something under this name. ",
            button("Look for it", () => look().catch((problem) => this.note.bad(problem))));
    }

    async enforce() {
        const { target } = this, etag = this.rule?.etag ?? null;
        const words = etag ? `${target} is replaced at once, for every request.`
            : `${target} is asked about every request from now on.`;
        const question = { title: "Put it in force?", action: "Put in force", text: words };
        if (target && !await confirmed(question))
            return;
        const { value: text } = this.form.text;
        const way = el("p", {}, el("a", { href: ruleHref(target) }, "Look at it"));
        await this.attempt(() => api.putRule(target, { text, etag }), (answer) => {
            this.learn({ rule: answer });
            say(this.origin, originOf(answer, this.name));
            told(this.note, `${target} is in force.`, answer, way);
        });
    }

    async undo() {
        const { target, rule: { etag, replaces } } = this;
        const words = `${target} is ${replaces ? "again what the rules file says" : "gone"}.`;
        if (!await confirmed({ title: "Undo?", action: "Undo", text: words }))
            return;
        await this.attempt(() => api.undoRule(target, etag), ({ now }) => {
            this.learn({ rule: now });
            say(this.origin, originOf(now, this.name));
            this.note.good(words);
            if (now)
                this.form.load(now.rule);
        });
    }

    takePreview() {
        const { name: _, shadow: __, ...rule } = this.previewed.rule;
        this.form.load(rule);
        this.note.good("This is what the preview says. It is not in force yet.");
    }

    async endPreview() {
        const to = this.target + PREVIEW, { etag, replaces } = this.previewed;
        const words = `${to} is ${replaces ? "again what the rules file says" : "gone"}.`;
        if (!await confirmed({ title: "End the preview?", action: "End it", text: words }))
            return;
        await this.attempt(() => api.undoRule(to, etag), ({ now }) => {
            this.learn({ previewed: now });
            this.note.good(words);
        }, () => this.offerPreview());
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
    editor.nameInput.addEventListener("change", () => editor.load(true));
    editor.load(false);
}
