// SPDX-License-Identifier: GPL-2.0-or-later
// family.js - /family, live: the processes side by side, and two of them compared.
// The list is asked for every two seconds; tables only of two that were chosen.

import { el, svg, setText, setAttr, setAmount, flash } from "./dom.js";
import { bytes, bytesParts, clock, count, duration, visible, DASH, MINUS } from "./format.js";
import { answers, nameOf, points, reach, curvePaths, familySentence, sorted, compareRows, perMinute, keyOf, withLast } from "./fleet.js";
import { say } from "./said.js";
import { stay } from "./stay.js";
import { Poll, fetchJSON, mount } from "./poll.js";
import { encodeLocation } from "./server.js";
import { where } from "./where.js";

const EVERY = 2000, TABLES_EVERY = 10000;
const WIDTH = 140, HEIGHT = 28;

const COLUMNS = [
	{ id: "title", title: "process", text: true },
	{ id: "rss_bytes", title: "RSS", about: "Resident memory; shared pages count in each process" },
	{ id: "live_bytes", title: "live", about: "Bytes allocated and not freed" },
	{ id: "slope_bytes_per_minute", title: "slope", about: "How fast live bytes grow, over the last 15 minutes at most" },
	{ id: "curve", title: "live over time", drawn: true, about: "Live bytes over the last 15 minutes at most, on one time axis, each with a height of its own" },
	{ id: "sentence", title: "what it says", text: true, drawn: true },
];

// The two PIDs in the fragment: #compare=12,34
export function chosenIn(hash) {
	const pids = (new URLSearchParams(hash.replace(/^#/, "")).get("compare") || "").split(",").map(Number);
	return pids.filter((pid, i) => Number.isInteger(pid) && pid > 0 && pids.indexOf(pid) === i).slice(0, 2);
}

export class Family {
	constructor() {
		this.rows = new Map(); // by keyOf()
		this.last = new Map(); // see withLast()
		this.chosen = chosenIn(location.hash);
		this.sort = { id: "pid", descending: false };
		this.sentence = el("h1", { class: "verdict" }, "Processes");
		this.state = el("p", { class: "light", role: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), el("span", {}, "loading"));
		this.body = el("tbody");
		this.headers = COLUMNS.map((c) => el("th", { scope: "col", class: c.text || c.drawn ? null : "num", title: c.about, "data-column": c.id },
			c.drawn ? c.title : el("button", { type: "button", class: "plain", onclick: () => this.sortBy(c) }, c.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
		this.table = el("table", { class: "fleet" }, el("caption", {}, "Choose two processes to compare their tables."),
			el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")), this.headers)), this.body);
		this.comparison = el("section", { class: "comparison", "aria-label": "Two processes compared", hidden: true });
		this.totals = el("p", { class: "totals" });
		this.root = el("div", { class: "family" }, this.sentence, this.totals, this.state,
			el("p", { class: "note" }, el("a", { href: `${mount()}/all/` }, "All together"), ": the sum of their tables."),
			el("div", { class: "scroll", role: "region", "aria-label": "Processes", tabindex: 0 }, this.table), this.comparison);
		this.poll = new Poll(() => fetchJSON(`${mount()}/family.json`), EVERY, { data: (d) => this.show(d), lost: (e) => this.lost(e) });
		this.tables = new Poll(() => Promise.all(this.chosen.map((pid) => fetchJSON(`${mount()}/${pid}/each/0.json`))), TABLES_EVERY,
			{ data: (both) => this.showComparison(both), lost: (e) => this.noComparison(e) });
	}

	start() {
		stay(() => this.state.dataset.state === "gone", (text) => setText(this.state.lastChild, text));
		addEventListener("hashchange", () => {
			this.chosen = chosenIn(location.hash);
			this.draw();
			this.compare();
		});
		this.poll.now();
	}

	lost(e) {
		setAttr(this.state, "data-state", "gone");
		setText(this.state.lastChild, e.status ? `not live: ${e.message}` : "no answer; the last numbers are kept");
	}

	show({ processes, sentence, growing }) {
		const first = !this.processes;
		this.processes = withLast(processes, this.last, Date.now() / 1000);
		say(this.sentence, sentence, growing !== null);
		setAttr(this.state, "data-state", "live");
		setText(this.state.lastChild, "live");
		this.draw();
		if (first) {
			const main = document.querySelector("main");
			for (const node of main.querySelectorAll(":scope > h1, :scope > .next, :scope > .summary, :scope > .scroll"))
				node.remove();
			main.prepend(this.root);
			this.compare();
		}
	}

	sortBy(column) {
		const { id, descending } = this.sort;
		this.sort = { id: column.id, descending: id === column.id ? !descending : !column.text };
		this.draw();
	}

	draw() {
		if (!this.processes)
			return;
		const { id, descending } = this.sort;
		setText(this.totals, familySentence(this.processes));
		COLUMNS.forEach((c, i) => {
			setAttr(this.headers[i], "aria-sort", c.id === id ? (descending ? "descending" : "ascending") : null);
			if (!c.drawn)
				setText(this.headers[i].querySelector(".arrow"), c.id === id ? (descending ? "\u25be" : "\u25b4") : "");
		});
		const order = sorted(this.processes, id, descending);
		const max = Math.max(1, ...order.map((p) => p.rss_bytes || 0)), span = reach(order);
		setAttr(this.table, "class", order.every((p) => answers(p) && !p.sentence) ? "fleet nothing-said" : "fleet");
		setText(this.headers[4], `live, last ${duration(span)}`);
		const keys = order.map(keyOf);
		for (const [key, row] of this.rows)
			if (!keys.includes(key)) {
				row.tr.remove();
				this.rows.delete(key);
			}
		order.forEach((p, i) => {
			const row = this.rows.get(keys[i]) || this.make(p.pid, keys[i]);
			this.fill(row, p, max, span);
			if (this.body.children[i] !== row.tr)
				this.body.insertBefore(row.tr, this.body.children[i] || null);
		});
	}

	make(pid, key) {
		const box = el("input", { type: "checkbox", onchange: () => this.choose(pid, box.checked) });
		const row = { box, name: el("b"), about: el("span", { class: "dim" }), out: el("span", { class: "warning stands" }),
			amounts: ["rss_bytes", "live_bytes", "slope_bytes_per_minute"].map(() => el("span")), bar: el("i", { "aria-hidden": "true" }),
			area: svg("path", { class: "area" }), line: svg("path", { class: "curve" }), says: el("td", { class: "says" }) };
		row.link = el("a", { href: `${mount()}/${pid}/` }, row.name);
		row.svg = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img" }, row.area, row.line);
		const [rss, live, slope] = row.amounts;
		row.tr = el("tr", { "data-pid": pid }, el("td", {}, box), el("td", { class: "who" }, row.link, el("br"), row.about, row.out),
			el("td", { class: "num bar live" }, row.bar, rss), el("td", { class: "num" }, live), el("td", { class: "num" }, slope),
			el("td", { class: "trend" }, row.svg), row.says);
		this.rows.set(key, row);
		return row;
	}

	fill(row, p, max, span) {
		const there = answers(p);
		setText(row.name, nameOf(p));
		setText(row.about, [p.pid && `pid ${p.pid}`, p.age > 0 && `${duration(p.age)} old`, p.owner && "has the path"].filter(Boolean).join(" \u00b7 "));
		setText(row.out, p.outlier ? `stands out by ${p.outlier}` : "");
		setAttr(row.tr, "class", !there ? "silent" : p.outlier ? "out" : null);
		this.amount(row.amounts[0], bytesParts(p.rss_bytes), p.rss_bytes);
		this.amount(row.amounts[1], bytesParts(p.live_bytes), p.live_bytes, p.live_error);
		setText(row.amounts[2], perMinute(p.slope_bytes_per_minute));
		row.bar.style.width = `${(p.rss_bytes || 0) / max * 100}%`;
		const list = points(p.curve, "live"), paths = curvePaths(list, span, WIDTH, HEIGHT);
		setAttr(row.line, "d", paths?.line ?? "");
		setAttr(row.area, "d", paths?.area ?? "");
		setAttr(row.svg, "aria-label", paths ? `Live bytes: ${bytes(list[0][1])} ${duration(list[0][0])} ago, ${bytes(list[list.length - 1][1])} now` : "No curve yet");
		setText(row.says, !there ? `${p.state}${p.seen ? `; last seen at ${clock(p.seen, true)}` : ""}` : p.sentence ? visible(p.sentence) : DASH);
		row.box.checked = this.chosen.includes(p.pid);
		row.box.disabled = !there || (this.chosen.length === 2 && !row.box.checked);
		setAttr(row.box, "aria-label", `Compare pid ${p.pid}`);
		if (there)
			setAttr(row.link, "href", `${mount()}/${p.pid}/`);
		else
			row.link.removeAttribute("href");
	}

	amount(node, parts, value, error) {
		const before = node.textContent;
		setAmount(node, parts);
		setAttr(node, "title", value === null || value === undefined ? null : `${count(value)} bytes${error ? ` \u00b1 ${count(error)}: an estimate` : ""}`);
		setAttr(node, "class", error ? "about" : null);
		if (before && before !== node.textContent)
			flash(node);
	}

	/* --- two of them ----------------------------------------------------------- */

	choose(pid, on) {
		this.chosen = this.chosen.filter((other) => other !== pid);
		if (on)
			this.chosen.push(pid);
		history.replaceState(null, "", location.pathname + location.search + (this.chosen.length ? `#compare=${this.chosen.join()}` : ""));
		this.draw();
		this.compare();
	}

	compare() {
		this.tables.stop();
		this.comparison.hidden = this.chosen.length < 2;
		if (this.chosen.length < 2)
			return;
		this.comparison.replaceChildren(el("p", { class: "note" }, "Asking both for their tables\u2026"));
		this.tables.now();
	}

	noComparison(e) {
		this.comparison.replaceChildren(el("p", { class: "warning" }, e.status ? e.message : "One of them doesn\u2019t answer."));
	}

	showComparison([rowsA, rowsB]) {
		const [a, b] = this.chosen, c = compareRows(rowsA, rowsB);
		const link = (row, pid, value) => el("td", { class: "num", title: `${count(value)} bytes` },
			value ? el("a", { href: `${mount()}/${pid}/at/${encodeLocation(row.name)}` }, bytes(value)) : DASH);
		const difference = (v) => `${v > 0 ? "+" : MINUS}${bytes(Math.abs(v))}`;
		const by = c.a - c.b;
		this.comparison.replaceChildren(
			el("h2", {}, `pid ${a} and pid ${b}: ${by ? `${bytes(Math.abs(by))} ${by > 0 ? "more" : "less"} live in pid ${a}` : "the same live bytes"}`),
			el("table", { class: "rows compared" },
				el("caption", {}, c.differ > c.rows.length ? `The ${c.rows.length} of ${count(c.differ)} locations that differ most, by live bytes` : `${count(c.differ)} locations differ, by live bytes`),
				el("thead", {}, el("tr", {}, [`difference`, `pid ${a}`, `pid ${b}`].map((t) => el("th", { scope: "col", class: "num" }, t)), el("th", { scope: "col" }, "location"))),
				el("tbody", {}, c.rows.map((r) => el("tr", {}, el("td", { class: `num ${r.difference > 0 ? "more" : "less"}`, title: `${count(r.difference)} bytes` }, difference(r.difference)),
					link(r, a, r.a), link(r, b, r.b), el("td", { class: "location" }, where(r.location)))))));
	}
}
