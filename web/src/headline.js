// SPDX-License-Identifier: GPL-2.0-or-later
// headline.js - the process at a glance: a sentence, four numbers, and the
// stacked area over time. While the pointer is over the plot, the numbers are
// those of that moment.

import { el, setAmount, setText, setAttr } from "./dom.js";
import { bytesParts, bytes, clock, duration } from "./format.js";
import { other, stack } from "./history.js";
import { stackedChart } from "./chart.js";
import { RANGES } from "./state.js";

const RANGE_NAMES = { "15m": "15\u00a0m", "1h": "1\u00a0h", "6h": "6\u00a0h", "24h": "24\u00a0h" };
const FIGURES = [
	["rss", "RSS", "Resident memory of the process, as the system sees it"],
	["live", "live", "Bytes allocated and not freed, as the tracker counts them"],
	["heap", "Ruby heap", "Ruby\u2019s heap pages: the slots of objects, not what they point to"],
	["other", "other", "RSS less live less Ruby\u2019s heap: memory that the allocator keeps free or fragmented, programs, stacks"],
];

export class Headline {
	// on: {range(name), select(from, to) or select(null)}
	constructor(history, on) {
		this.history = history;
		this.on = on;
		this.figures = {};
		this.columns = null;
		this.hovered = null;
		this.sentence = el("h1", { class: "verdict" }, "");
		this.where = el("a", { href: "#" });
		this.when = el("p", { class: "when" });
		this.whole = el("button", { type: "button", class: "chip", hidden: true, onclick: () => on.select(null) });
		this.ranges = el("div", { class: "choice ranges", role: "group", "aria-label": "Time shown" },
			Object.keys(RANGES).map((name) =>
				el("button", { type: "button", "data-range": name, onclick: () => on.range(name) }, RANGE_NAMES[name])));
		this.box = el("div", { class: "plot", role: "img" });
		const list = el("dl", { class: "figures" }, FIGURES.map(([id, title, aboutIt]) => {
			const value = el("dd");
			this.figures[id] = el("div", { class: `figure ${id}`, title: aboutIt }, el("dt", {}, title), value);
			this.figures[id].value = value;
			return this.figures[id];
		}));
		this.root = el("section", { class: "headline", "aria-label": "The process" }, this.sentence,
			el("div", { class: "line" }, list, this.when, el("div", { class: "right" }, this.whole, this.ranges)), this.box);
	}

	// Once it is in the document
	start() {
		this.chart = stackedChart(this.box, {
			marks: () => this.history.marks.map((t) => t + (this.history.offset || 0)),
			hover: (i) => {
				this.hovered = i ?? null;
				this.showFigures();
			},
			select: (from, to) => this.on.select(from - this.history.offset, to - this.history.offset),
		});
	}

	// The times shown, in uptime: a part that was selected, or the last minutes
	static span(state, now) {
		if (state.from !== null)
			return [state.from, state.to];
		return [Math.max(0, Math.min(now - RANGES[state.range], now - 10)), Math.max(now, 1)];
	}

	update(state, now, verdict, onWhere) {
		const offset = this.history.offset || 0;
		const [from, to] = Headline.span(state, now);
		this.columns = this.history.columns(from, to);
		this.chart.set([this.columns.t.map((t) => t + offset), ...stack(this.columns).reverse(), this.columns.rss], from + offset, to + offset);
		this.showFigures();
		this.showSentence(verdict, onWhere);
		for (const button of this.ranges.children)
			setAttr(button, "aria-pressed", state.from === null && button.dataset.range === state.range);
		this.whole.hidden = state.from === null;
		if (state.from !== null)
			setText(this.whole, `${clock(from + offset, to - from < 600)}\u2013${clock(to + offset, to - from < 600)} \u2715`);
		setAttr(this.whole, "aria-label", `${this.whole.textContent.replace(" \u2715", "")}: show all times again`);
	}

	showSentence(verdict, onWhere) {
		setAttr(this.sentence, "data-growing", verdict.growing);
		if (this.sentence.firstChild?.data !== verdict.text || this.sentence.at !== verdict.at) {
			this.sentence.at = verdict.at;
			this.sentence.replaceChildren(verdict.text);
			if (verdict.at)
				this.sentence.append(el("a", { href: "#", onclick: (e) => { e.preventDefault(); onWhere(); } }, verdict.at));
			this.sentence.append(".");
		}
	}

	showFigures() {
		const c = this.columns;
		if (!c)
			return;
		const hovering = this.hovered !== null && this.hovered < c.t.length;
		const i = hovering ? this.hovered : c.t.length - 1;
		const at = { rss: c.rss[i] ?? null, live: c.live[i] ?? null, heap: c.heap[i] ?? null };
		at.other = i >= 0 ? other(at.rss, at.live, at.heap) : null;
		for (const [id] of FIGURES)
			setAmount(this.figures[id].value, bytesParts(at[id]));
		this.figures.heap.hidden = at.heap === null;
		setText(this.when, hovering ? `at ${clock(c.t[i] + this.history.offset, true)}` : "");
		if (!hovering && i >= 0)
			setAttr(this.box, "aria-label", `Memory over the last ${duration(c.t[i] - c.t[0])}: RSS ${bytes(c.rss[0])} then, ${bytes(at.rss)} now; live ${bytes(c.live[0])} then, ${bytes(at.live)} now`);
	}
}
