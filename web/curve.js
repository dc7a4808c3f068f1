/* A curve over time, drawn by Chart.js, with the same numbers in a table below it for people who
 * cannot see the curve or would rather read it.
 *
 * Colours are Okabe and Ito's, which stay apart for colour-blind eyes, and every line has a
 * dash and a mark of its own besides. Nothing moves by itself: a curve that is redrawn every
 * second is motion enough. */
import { el, say } from "./dom.js";
import { count, stepOf } from "./words.js";

/* A style of line: its colour (of dashboard.css), dash, mark, and whether it is filled. */
const STYLES = {
    allowed: { colour: "--allowed", dash: [], mark: "circle", fill: true },
    denied: { colour: "--denied", dash: [6, 3], mark: "triangle" },
    would: { colour: "--would", dash: [2, 3], mark: "rectRot" },
    limit: { colour: "--text", dash: [10, 4, 2, 4], mark: "line" },
    other0: { colour: "--denied", dash: [], mark: "triangle" },
    other1: { colour: "--allowed", dash: [6, 3], mark: "circle" },
    other2: { colour: "--other", dash: [2, 3], mark: "rect" },
    other3: { colour: "--would", dash: [10, 4], mark: "rectRot" },
    other4: { colour: "--text", dash: [10, 4, 2, 4], mark: "cross" },
};
export const OTHERS = 5;

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function dataset(line) {
    const style = STYLES[line.style];
    const colour = colourOf(style.colour);
    return {
        label: line.name,
        data: line.values,
        borderColor: colour,
        backgroundColor: style.fill ? `${colour}33` : colour,
        borderDash: style.dash,
        borderWidth: 2,
        fill: Boolean(style.fill),
        pointStyle: style.mark,
        /* A mark now and then tells lines apart; one on every point hides them. */
        pointRadius: (context) => (context.dataIndex % 6 === 5 && line.style !== "limit" ? 4 : 0),
        pointBackgroundColor: colour,
        pointHitRadius: 12,
        tension: 0,
    };
}

function scales() {
    const ticks = { color: colourOf("--text") };
    const grid = { color: colourOf("--line") };
    return {
        x: { ticks: { ...ticks, maxRotation: 0, autoSkipPadding: 24 }, grid: { display: false } },
        y: { beginAtZero: true, suggestedMax: 5, grid,
            ticks: { ...ticks, precision: 0, maxTicksLimit: 6 } },
    };
}

function options() {
    const labels = { color: colourOf("--text"), usePointStyle: true, boxHeight: 6 };
    return {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        scales: scales(),
        plugins: { legend: { labels } },
    };
}

export class Curve {
    constructor(title, signal) {
        this.title = title;
        this.canvas = el("canvas", { role: "img" });
        this.head = el("tr");
        this.body = el("tbody");
        const table = el("table", {}, el("caption", {}, title),
            el("thead", {}, this.head), this.body);
        this.numbers = el("details", {}, el("summary", {}, "The same as numbers"),
            el("div", { class: "table" }, table));
        this.element = el("figure", {}, el("div", { class: "curve" }, this.canvas), this.numbers);
        this.numbers.addEventListener("toggle", () => this.fillTable());
        const dark = matchMedia("(prefers-color-scheme: dark)");
        dark.addEventListener("change", () => this.draw(), { signal });
        signal.addEventListener("abort", () => this.chart?.destroy(), { once: true });
    }

    /* `lines` are { name, style, values }; the last step of them ends at `endUs`. */
    update({ lines, stepS, endUs }) {
        this.lines = lines;
        const length = lines[0]?.values.length ?? 0;
        const timeOf = (i) => endUs - (length - 1 - i) * stepS * 1e6;
        this.labels = Array.from({ length }, (_, i) => stepOf(timeOf(i), stepS));
        const sums = lines.filter((line) => line.style !== "limit")
            .map((line) => `${line.name} ${count(sum(line.values))}`);
        this.canvas.setAttribute("aria-label", `${this.title}. In all: ${sums.join(", ")}.`);
        this.draw();
        this.fillTable();
    }

    draw() {
        if (!this.lines)
            return;
        const data = { labels: this.labels, datasets: this.lines.map(dataset) };
        if (!this.chart) {
            this.chart = new Chart(this.canvas, { type: "line", data, options: options() });
            return;
        }
        this.chart.data = data;
        this.chart.options = options();
        this.chart.update("none");
    }

    /* Newest first; filled only while the table is open. */
    fillTable() {
        if (!this.numbers.open || !this.lines)
            return;
        const titles = ["Time", ...this.lines.map((line) => line.name)];
        this.head.replaceChildren(...titles.map((title) => el("th", { scope: "col" }, title)));
        this.labels.forEach((label, i) => {
            const place = this.labels.length - 1 - i;
            const row = this.body.children[place] ?? this.body.appendChild(el("tr"));
            const texts = [label, ...this.lines.map((line) => count(line.values[i]))];
            while (row.children.length < texts.length)
                row.append(el("td"));
            while (row.children.length > texts.length)
                row.lastChild.remove();
            texts.forEach((text, column) => say(row.children[column], text));
        });
    }
}

const sum = (values) => values.reduce((all, one) => all + one, 0);
