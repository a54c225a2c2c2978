// SPDX-License-Identifier: GPL-2.0-or-later
// all.js - /all/, live: the sum of the processes. The numbers come from the list of
// processes, the table from the sum's own page, sorted and filtered there.

import { el, svg, setText, setAttr, setAmount, flash } from "./dom.js";
import { bytes, bytesParts, about, count, duration, small, visible, DASH } from "./format.js";
import { answers, totals, reach, sumCurve, curvePaths, perMinute, nameOf } from "./fleet.js";
import { Poll, fetchJSON, mount } from "./poll.js";
import { base, encodeLocation } from "./server.js";
import { serverAbout } from "./server_columns.js";
import { where } from "./where.js";

const EVERY = 2000, TABLE_EVERY = 4000;
const WIDTH = 600, HEIGHT = 90, LIMIT = 200;
const GROUPS = ["line", "file", "dir", "gem", "kind"];

const COLUMNS = [
	{ id: "growth", title: "growth", show: (r) => bytesParts(r.growth), exact: (r) => `${count(r.growth)} bytes` },
	{ id: "live_bytes", title: "live", show: (r) => bytesParts(r.live_bytes), exact: (r) => `${count(r.live_bytes)} bytes` },
	{ id: "live", title: "count", show: (r) => [about(r.live), ""], exact: (r) => `${count(r.live)} blocks` },
	{ id: "processes", title: "processes", show: (r) => [count(r.processes), ""] },
	{ id: "mean_life", title: "life", show: (r) => [r.mean_life === null ? DASH : small(r.mean_life), ""] },
	{ id: "kind", title: "kind", kinds: true, show: (r) => [r.kind ?? DASH, ""], exact: (r) => `${count(r.kind_samples || 0)} samples` },
	{ id: "location", title: "location", text: true },
].map((c) => ({ about: serverAbout(c.id), ...c }));

// The table's address: the view of it is in the page's fragment.
export function tableQuery({ sort, order, q, group }, limit) {
	const p = new URLSearchParams();
	p.set("sort", sort);
	for (const [name, value] of [["order", order], ["q", q], ["group", group === "line" ? null : group], ["limit", limit]])
		if (value)
			p.set(name, value);
	return p.toString();
}

export function stateOf(hash) {
	const p = new URLSearchParams(hash.replace(/^#/, ""));
	const known = (name, list, usual) => (list.includes(p.get(name)) ? p.get(name) : usual);
	return { sort: known("sort", COLUMNS.map((c) => c.id), "growth"), order: known("order", ["asc", "desc"], null),
		q: p.get("q") || "", group: known("group", GROUPS, "line") };
}

export class All {
	constructor() {
		this.state = stateOf(location.hash);
		this.rows = new Map(); // by location
		this.sentence = el("h1", { class: "verdict" }, "The sum of all processes");
		this.light = el("p", { class: "light", role: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), el("span", {}, "loading"));
		this.figures = {};
		this.list = el("dl", { class: "figures" }, [["rss", "RSS"], ["live", "live"], ["slope", "slope"]].map(([id, title]) =>
			el("div", { class: `figure ${id}` }, el("dt", {}, title), this.figures[id] = el("dd"))));
		this.rssLine = svg("path", { class: "curve rss" });
		this.area = svg("path", { class: "area" });
		this.line = svg("path", { class: "curve" });
		this.svg = svg("svg", { class: "sum-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, this.area, this.line, this.rssLine);
		this.who = el("p", { class: "who note" });
		this.input = el("input", { type: "search", "aria-label": "Filter locations", placeholder: "filter: part of the location", value: this.state.q,
			oninput: () => this.set({ q: this.input.value }) });
		this.groups = el("div", { class: "choice", role: "group", "aria-label": "Group by" }, GROUPS.map((g) =>
			el("button", { type: "button", "data-group": g, onclick: () => this.set({ group: g }) }, g)));
		this.links = el("p", { class: "exports" });
		this.headers = COLUMNS.map((c) => el("th", { scope: "col", class: c.text ? null : "num", title: c.about, "data-column": c.id },
			el("button", { type: "button", class: "plain", onclick: () => this.sort(c) }, c.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
		this.body = el("tbody");
		this.caption = el("caption");
		this.root = el("div", { class: "sum" }, this.sentence, this.light, this.list, this.svg, this.who,
			el("div", { class: "toolbar" }, this.input, this.groups),
			el("div", { class: "scroll", role: "region", "aria-label": "Locations", tabindex: 0 },
				el("table", { class: "rows summed" }, this.caption, el("thead", {}, el("tr", {}, this.headers)), this.body)), this.links);
		this.family = new Poll(() => fetchJSON(`${mount()}/family.json`), EVERY, { data: (d) => this.showFamily(d.processes), lost: (e) => this.lost(e) });
		this.table = new Poll(() => fetchJSON(`${base()}/each/0.json?${tableQuery(this.state, LIMIT)}`), TABLE_EVERY,
			{ data: (rows) => this.showRows(rows), lost: (e) => this.lost(e) });
	}

	start() {
		this.family.now();
		this.table.now();
	}

	takeOver() {
		const main = document.querySelector("main");
		if (this.root.isConnected)
			return;
		for (const node of main.querySelectorAll(":scope > h1, :scope > .facts, :scope > .filter, :scope > .scroll, :scope > .exports, :scope > .pager"))
			node.remove();
		main.prepend(this.root);
	}

	set(change) {
		this.state = { ...this.state, ...change };
		const { sort, order, q, group } = this.state;
		const p = new URLSearchParams();
		for (const [name, value] of [["sort", sort === "growth" && !order ? null : sort], ["order", order], ["q", q], ["group", group === "line" ? null : group]])
			if (value)
				p.set(name, value);
		history.replaceState(null, "", location.pathname + location.search + (p.size ? `#${p}` : ""));
		clearTimeout(this.later);
		this.later = setTimeout(() => this.table.now(), 250); // while somebody types
		this.drawControls();
	}

	sort(column) {
		const same = this.state.sort === column.id;
		const usual = column.text ? "asc" : "desc";
		const now = this.state.order || usual;
		this.set({ sort: column.id, order: same ? (now === "asc" ? "desc" : "asc") : null });
	}

	lost(e) {
		setAttr(this.light, "data-state", "gone");
		setText(this.light.lastChild, e.status ? `not live: ${e.message}` : "no answer; the last numbers are kept");
	}

	alive() {
		setAttr(this.light, "data-state", "live");
		setText(this.light.lastChild, "live");
	}

	showFamily(processes) {
		const there = processes.filter(answers), t = totals(there);
		this.alive();
		setText(this.sentence, `The sum of ${t.n} process${t.n === 1 ? "" : "es"}: live ${bytes(t.live)}, RSS ${bytes(t.rss)}.`);
		setAmount(this.figures.rss, bytesParts(t.rss));
		setAmount(this.figures.live, bytesParts(t.live));
		setText(this.figures.slope, perMinute(t.slope));
		const live = sumCurve(there, "live"), rss = sumCurve(there, "rss");
		const high = Math.max(1, ...rss.map(([, v]) => v), ...live.map(([, v]) => v)) * 1.05;
		const span = reach(there), drawn = curvePaths(live, span, WIDTH, HEIGHT, 0, high);
		setAttr(this.line, "d", drawn?.line ?? "");
		setAttr(this.area, "d", drawn?.area ?? "");
		setAttr(this.rssLine, "d", curvePaths(rss, span, WIDTH, HEIGHT, 0, high)?.line ?? "");
		setAttr(this.svg, "aria-label", `The last ${duration(span)}: live bytes, now ${bytes(t.live)}, and RSS, now ${bytes(t.rss)}`);
		this.who.replaceChildren("Of ", ...there.flatMap((p, i) => [i ? ", " : "", el("a", { href: `${mount()}/${p.pid}/`, title: nameOf(p) }, `pid ${p.pid}`), ` (${bytes(p.rss_bytes)})`]),
			". RSS counts shared pages in each of them. ", el("a", { href: `${mount()}/family` }, "Side by side"));
		this.takeOver();
	}

	// Columns and a group that only processes with stacks have
	drawKinds() {
		const { kinds } = this;
		COLUMNS.forEach((c, i) => { this.headers[i].hidden = Boolean(c.kinds) && !kinds; });
		for (const button of this.groups.children)
			button.hidden = button.dataset.group === "kind" && !kinds && this.state.group !== "kind";
	}

	drawControls() {
		const { sort, order, group, q } = this.state;
		this.drawKinds();
		for (const button of this.groups.children)
			setAttr(button, "aria-pressed", button.dataset.group === group);
		if (this.input.value !== q)
			this.input.value = q;
		COLUMNS.forEach((c, i) => {
			const way = (order || (c.text ? "asc" : "desc")) === "asc" ? "ascending" : "descending";
			setAttr(this.headers[i], "aria-sort", c.id === sort ? way : null);
			setText(this.headers[i].querySelector(".arrow"), c.id === sort ? (way === "ascending" ? "\u25b4" : "\u25be") : "");
		});
		this.links.replaceChildren("All rows as ", ...["tsv", "csv", "json"].flatMap((form) =>
			[el("a", { href: `${base()}/each/0.${form}?${tableQuery(this.state, null)}` }, form.toUpperCase()), " "]));
	}

	showRows(rows) {
		this.kinds = rows.length ? "kind" in rows[0] : this.kinds;
		this.alive();
		this.drawControls();
		this.takeOver();
		setText(this.caption, rows.length ? (rows.length < LIMIT ? `${count(rows.length)} rows` : `The first ${LIMIT} rows`) : this.state.q ? `No location contains \u201c${visible(this.state.q)}\u201d.` : "Nothing was allocated yet.");
		const seen = new Set();
		rows.forEach((r, i) => {
			const key = `${this.state.group} ${r.location}`;
			const row = this.rows.get(key) || this.make(key, r);
			seen.add(key);
			this.fill(row, r);
			if (this.body.children[i] !== row.tr)
				this.body.insertBefore(row.tr, this.body.children[i] || null);
		});
		for (const [key, row] of this.rows)
			if (!seen.has(key)) {
				row.tr.remove();
				this.rows.delete(key);
			}
	}

	make(key, r) {
		const row = { cells: COLUMNS.map((c) => (c.text ? el("td", { class: "location" }, where(r.location, this.state.group === "line" ? `${base()}/at/${encodeLocation(r.location)}` : null)) :
			el("td", { class: "num" }, el("span")))) };
		row.tr = el("tr", {}, row.cells);
		this.rows.set(key, row);
		return row;
	}

	fill(row, r) {
		COLUMNS.forEach((c, i) => {
			if (c.text)
				return;
			const cell = row.cells[i], before = cell.textContent;
			cell.hidden = Boolean(c.kinds) && !this.kinds;
			setAmount(cell.firstChild, c.show(r));
			if (c.exact)
				setAttr(cell, "title", c.exact(r));
			setAttr(cell, "class", `num${c.id === this.state.sort ? " by" : ""}${c.id === "growth" ? r.growth > 0 ? " more" : r.growth < 0 ? " less" : "" : ""}`);
			if (before && before !== cell.textContent)
				flash(cell.firstChild);
		});
	}
}
