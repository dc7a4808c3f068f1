/* Tables that are updated every second without losing the reader's place: rows are kept by their
 * key, moved only where the order changed, and the focus stays where it was.
 *
 *   new Table({ caption, key: (item) => item.rule, columns: [
 *       { title: "Rule", fill: (cell, item) => sayLink(cell, …), sort: (item) => item.rule },
 *       { title: "Checks", text: (item) => count(item.checks), sort: …, kind: "number" } ] })
 *
 * Roles are written out since on a phone the rows become cards, and a browser then forgets that it
 * was a table. `wide` columns are left out there. */
import { button, el, say } from "./dom.js";
import { share } from "./words.js";

export class Table {
    constructor({ caption, columns, key, sort = null, empty = "Nothing yet.", cards = false }) {
        this.columns = columns;
        this.key = key;
        this.rows = new Map();
        this.items = [];
        this.order = sort && { by: columns.findIndex((one) => one.title === sort), down: true };
        this.heads = columns.map((column, number) => this.head(column, number));
        this.body = el("tbody", { role: "rowgroup" });
        this.empty = el("p", { class: "empty", hidden: true }, empty);
        this.table = el("table", { role: "table", class: cards ? "cards" : null },
            el("caption", {}, caption),
            el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, this.heads)), this.body);
        this.element = el("div", { class: "table" }, this.table, this.empty);
        this.showOrder();
    }

    head(column, number) {
        const inside = column.sort
            ? button(column.title, () => this.sortBy(number), { class: "sort" }) : column.title;
        return el("th", { scope: "col", role: "columnheader", class: column.kind }, inside);
    }

    sortBy(number) {
        const down = this.order?.by === number ? !this.order.down : true;
        this.order = { by: number, down };
        this.showOrder();
        this.update(this.items);
    }

    showOrder() {
        this.heads.forEach((head, number) => {
            if (!this.columns[number].sort)
                return;
            const way = this.order?.down ? "descending" : "ascending";
            head.setAttribute("aria-sort", this.order?.by === number ? way : "none");
        });
    }

    sorted(items) {
        if (!this.order)
            return items;
        const { sort } = this.columns[this.order.by];
        const sign = this.order.down ? -1 : 1;
        const compare = (a, b) => {
            const [x, y] = [sort(a) ?? -1, sort(b) ?? -1];
            return x === y ? 0 : x < y ? -sign : sign;
        };
        return [...items].sort(compare);
    }

    makeRow() {
        const cells = this.columns.map((column) =>
            el("td", { role: "cell", class: column.kind, "data-label": column.title }));
        return el("tr", { role: "row" }, cells);
    }

    update(items) {
        this.items = items;
        const focused = document.activeElement;
        const gone = new Map(this.rows);
        this.sorted(items).forEach((item, place) => {
            const key = this.key(item);
            const row = this.rows.get(key) ?? this.makeRow();
            this.rows.set(key, row);
            gone.delete(key);
            this.columns.forEach((column, i) => fill(column, row.children[i], item));
            if (this.body.children[place] !== row)
                this.body.insertBefore(row, this.body.children[place] ?? null);
        });
        for (const [key, row] of gone) {
            row.remove();
            this.rows.delete(key);
        }
        if (focused !== document.activeElement && this.body.contains(focused))
            focused.focus({ preventScroll: true });
        this.table.hidden = items.length === 0;
        this.empty.hidden = items.length !== 0;
    }
}

function fill(column, cell, item) {
    if (column.fill)
        column.fill(cell, item);
    else
        say(cell, column.text(item));
}

/* A share as a bar and in words: neither length nor colour alone. `hit` is for denials. */
export function sayShare(cell, value, text, kind = "") {
    if (!cell.firstChild) {
        const bar = el("span", { class: `bar ${kind}`, "aria-hidden": "true" }, el("span"));
        cell.append(bar, el("span", { class: "words" }));
    }
    cell.firstChild.firstChild.style.setProperty("width", `${100 * Math.min(1, value ?? 0)}%`);
    say(cell.lastChild, text);
}

export const sayHits = (cell, rate) => sayShare(cell, rate, share(rate), "hit");
