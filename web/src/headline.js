// SPDX-License-Identifier: GPL-2.0-or-later
// headline.js - the process at a glance: a sentence, five numbers, and the
// stacked area over time. While the pointer is over the plot, the numbers are
// those of that moment.

import { el, setAmount, setText, setAttr } from "./dom.js";
import { bytesParts, bytes, moment, ends, duration, visible } from "./format.js";
import { limitNear, other, stack } from "./history.js";
import { stackedChart } from "./chart.js";
import { PlotKeys } from "./plotkeys.js";
import { RANGES, SHOWN, span } from "./state.js";
import { spoken, togetherIn } from "./verdict.js";
import { flameLink, keepsStacks } from "./callers.js";
import { diffLink, named } from "./compare.js";
import { placePath } from "./server.js";

const RANGE_NAMES = { "15m": "15\u00a0m", "1h": "1\u00a0h", "6h": "6\u00a0h", "24h": "24\u00a0h", all: "all" };
const FIGURES = [
	["rss", "RSS", "Resident memory of the process, as the system sees it"],
	["live", "live", "Bytes allocated and not freed, as the tracker counts them"],
	["heap", "Ruby heap", "Ruby\u2019s heap pages: the slots of objects, not what they point to"],
	["free", "free", "Free memory that the allocator keeps in its arenas: fragmentation, or what trim gives back"],
	["other", "other", "RSS less live, less Ruby\u2019s heap, less what is free in arenas: programs, stacks, mappings that aren\u2019t malloc\u2019s"],
	["limit", "limit", "The smallest memory limit: of the container, the address space or the machine. It is a dashed line where it is near"],
];

export class Headline {
	// on: {range(name), select(from, to) or select(null), open(location)}
	constructor(history, on) {
		this.history = history;
		this.on = on;
		this.figures = {};
		this.columns = null;
		this.hovered = null;
		this.mark = null;
		this.sentence = el("h1", { class: "verdict" }, "\u2026");
		this.next = el("p", { class: "next" });
		this.when = el("p", { class: "when" });
		this.whole = el("button", { type: "button", class: "chip", hidden: true, onclick: () => on.select(null) });
		this.callers = el("a", { class: "callers", hidden: true, title: "The flame graph of the growth in this time" }, "callers of the growth");
		this.compare = el("a", { class: "compare", hidden: true, title: "Each location\u2019s memory at the beginning and at the end of this time" }, "compare both moments");
		this.ranges = el("div", { class: "choice ranges", role: "group", "aria-label": "Time shown" },
			Object.keys(RANGES).map((name) =>
				el("button", { type: "button", "data-range": name, onclick: () => on.range(name) }, RANGE_NAMES[name])));
		this.box = el("div", { class: "plot", role: "slider", tabindex: 0, "aria-orientation": "horizontal",
			"aria-description": "Shift and the arrows select a part of the time, Enter shows it, Escape clears it" });
		this.nothing = el("p", { class: "no-plot", hidden: true }, el("span"), " ",
			el("button", { type: "button", onclick: () => on.select(null) }, "Show all times"));
		const list = el("dl", { class: "figures" }, FIGURES.map(([id, title, aboutIt]) => {
			const value = el("dd");
			this.figures[id] = el("div", { class: `figure ${id}`, title: aboutIt }, el("dt", {}, title), value);
			this.figures[id].value = value;
			return this.figures[id];
		}));
		this.root = el("section", { class: "headline", "aria-label": "The process" }, this.sentence, this.next,
			el("div", { class: "line" }, list, this.when, el("div", { class: "right" }, this.compare, this.callers, this.whole, this.ranges)), this.box, this.nothing);
	}

	get offset() {
		return this.history.offset || 0;
	}

	// Once it is in the document
	start() {
		this.chart = stackedChart(this.box, {
			lines: () => this.lines(),
			hover: (i) => {
				this.hovered = i ?? null;
				this.showFigures();
			},
			select: (from, to) => this.on.select(from - this.offset, to - this.offset),
		});
		this.keys = new PlotKeys(this.box, {
			span: () => this.shown.map((t) => t + this.offset),
			cursor: (t) => this.chart.cursor(t),
			select: (part) => this.chart.part(part),
			apply: (from, to) => this.on.select(from - this.offset, to - this.offset),
		});
	}

	// Events, and the tab's own mark, as lines on the plot
	lines() {
		const now = Date.now() / 1000;
		const line = ({ t, kind, text }) => ({ t: t + this.offset, kind, label: named({ kind, text }).label,
			title: `${moment(t + this.offset, now, true)} ${named({ kind }).kind}${text ? `: ${visible(text)}` : ""}` });
		return [...this.history.events, ...(this.mark === null ? [] : [{ t: this.mark, kind: "own", text: "" }])].sort((a, b) => a.t - b.t).map(line);
	}

	// state: see state.js; now: uptime; mark: when this tab's mark was set, or null; times: {from, to} of the growth that is
	// shown, or null: since the start or a reset
	update(state, now, mark, times) {
		const { offset } = this;
		const [from, to] = this.shown = span(state, now);
		this.mark = mark;
		this.columns = this.history.columns(from, to);
		const why = this.impossible(state, now);
		this.box.hidden = why !== null;
		this.nothing.hidden = why === null;
		setText(this.nothing.firstChild, why || "");
		if (why === null) {
			this.chart.set([this.columns.t.map((t) => t + offset), ...stack(this.columns).reverse(), this.columns.rss,
				Array(this.columns.t.length).fill(limitNear(this.history.limit, this.columns.rss))], from + offset, to + offset);
			this.keys.show();
		}
		this.showFigures();
		const chosen = state.range || SHOWN;
		for (const button of this.ranges.children)
			setAttr(button, "aria-pressed", state.from === null && button.dataset.range === chosen);
		this.whole.hidden = state.from === null;
		this.callers.hidden = !times || !keepsStacks();
		this.compare.hidden = !times;
		if (times) {
			setAttr(this.callers, "href", flameLink({ times }));
			setAttr(this.compare, "href", diffLink(times));
		}
		if (state.from !== null)
			setText(this.whole, `${this.times(state.from, state.to)} \u2715`);
		setAttr(this.whole, "aria-label", `${this.whole.textContent.replace(" \u2715", "")}: show all times again`);
	}

	times(from, to) {
		const now = Date.now() / 1000, seconds = Math.abs(to - from) < 180;
		return ends(from + this.offset, to + this.offset, now, seconds).join("\u2013");
	}

	// Why there is nothing to be drawn, or null
	impossible({ from, to }, now) {
		if (from === null || this.history.offset === null)
			return null;
		if (to <= from)
			return "The part of the time that was asked for ends before it begins.";
		if (from > now)
			return `${this.times(from, to)} hasn\u2019t come yet: the process has been up for ${duration(now)}.`;
		const { t } = this.columns;
		if (t.length)
			return null;
		const first = this.history.first;
		return `Nothing is known of ${this.times(from, to)}${first === null ? "" : `: the history begins at ${moment(first + this.offset, Date.now() / 1000)}`}.`;
	}

	// verdict: the server's, or null while there is none; until: see spoken(); why: what the server said instead, or null
	say(verdict, until, why) {
		const said = verdict ? spoken(verdict, until) : { text: why ? `No sentence: ${why}` : "\u2026", next: "", growing: false };
		const key = JSON.stringify([said, verdict?.together]);
		if (key === this.said)
			return;
		this.said = key;
		setAttr(this.sentence, "data-growing", said.growing);
		setAttr(this.sentence, "title", said.title);
		this.sentence.replaceChildren(...togetherIn(said.text, verdict?.together).map((piece) => (piece.href ? el("a", { href: piece.href }, visible(piece.name)) : visible(piece))));
		if (said.name)
			this.sentence.append(el("a", { href: placePath(said.at),
				onclick: (e) => { e.preventDefault(); this.on.open(said.at); } }, visible(said.name)), visible(said.rest));
		setText(this.next, visible(said.next));
	}

	showFigures() {
		const c = this.columns;
		if (!c)
			return;
		const hovering = this.hovered !== null && this.hovered < c.t.length;
		const i = hovering ? this.hovered : c.t.length - 1;
		const at = Object.fromEntries(["rss", "live", "heap", "free"].map((id) => [id, c[id][i] ?? null]));
		at.limit = this.history.limit?.bytes ?? null;
		at.other = i >= 0 ? other(at.rss, at.live, at.heap, at.free) : null;
		for (const [id] of FIGURES)
			setAmount(this.figures[id].value, bytesParts(at[id]));
		this.figures.heap.hidden = at.heap === null;
		this.figures.free.hidden = at.free === null;
		this.figures.limit.hidden = at.limit === null;
		const now = Date.now() / 1000;
		setText(this.when, hovering ? `at ${moment(c.t[i] + this.offset, now, true)}` : "");
		if (i < 0)
			return;
		const [from, to] = this.shown, of = `RSS ${bytes(at.rss)}, live ${bytes(at.live)}`;
		setAttr(this.box, "aria-valuemin", Math.round(from));
		setAttr(this.box, "aria-valuemax", Math.round(to));
		// a focused text is spoken whenever it changes: then only by the user's own keys
		const focused = document.activeElement === this.box;
		if (!focused || hovering) {
			const part = this.keys?.part;
			setAttr(this.box, "aria-valuenow", Math.round(c.t[i]));
			setAttr(this.box, "aria-valuetext", part ? `${this.times(part[0] - this.offset, part[1] - this.offset)} selected: Enter shows it` : `${moment(c.t[i] + this.offset, now, true)}: ${of}`);
		}
		if (!focused && !hovering)
			setAttr(this.box, "aria-label", `Memory over the last ${duration(c.t[i] - c.t[0])}: RSS ${bytes(c.rss[0])} then, ${bytes(at.rss)} now; live ${bytes(c.live[0])} then, ${bytes(at.live)} now`);
	}
}
