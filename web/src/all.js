// SPDX-License-Identifier: GPL-2.0-or-later
// all.js - /all/, live: the sum of the processes. The numbers come from the list of
// processes, the table from the sum's own page, sorted and filtered there.

import { stackedChart } from "./chart.js";
import { el, setText, setAttr, setAmount, flash } from "./dom.js";
import { BARS, COLUMNS, GROUPS, stateOf, tableQuery } from "./all_columns.js";
import { bytes, bytesParts, clock, count, duration, visible } from "./format.js";
import { answers, totals, reach, sumCurve, perMinute, nameOf, numberOf, plain, withLast } from "./fleet.js";
import { Poll, fetchJSON, mount } from "./poll.js";
import { base, encodeLocation } from "./server.js";
import { say } from "./said.js";
import { stay } from "./stay.js";
import { drawTrend, trendCell } from "./trend.js";
import { hasTrends, sumTrends } from "./trends.js";
import { where } from "./where.js";

const EVERY = 2000, TABLE_EVERY = 4000, TRENDS_EVERY = 20000;
const PAGE = 50; // rows more at each press

export class All {
	constructor() {
		this.state = stateOf(location.hash);
		this.rows = new Map(); // by location
		this.last = new Map(); // see withLast()
		this.totals = el("p", { class: "totals" });
		this.sentence = el("h1", { class: "verdict" }, "The sum of all processes");
		this.light = el("p", { class: "light", role: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), el("span", {}, "loading"));
		this.figures = {};
		this.list = el("dl", { class: "figures" }, [["rss", "RSS"], ["live", "live"], ["slope", "slope"]].map(([id, title]) =>
			el("div", { class: `figure ${id}` }, el("dt", {}, title), this.figures[id] = el("dd"))));
		this.box = el("div", { class: "plot", role: "img" });
		this.limit = PAGE;
		this.further = el("p", { class: "pager", hidden: true }, el("button", { type: "button", onclick: () => {
			this.limit += PAGE;
			this.table.now();
		} }, `Show ${PAGE} more`));
		this.who = el("p", { class: "who note" });
		this.input = el("input", { type: "search", "aria-label": "Filter locations", placeholder: "filter: part of the location", value: this.state.q,
			oninput: () => this.set({ q: this.input.value }) });
		this.groups = el("div", { class: "choice", role: "group", "aria-label": "Group by" }, GROUPS.map((g) =>
			el("button", { type: "button", "data-group": g, onclick: () => this.set({ group: g }) }, g)));
		this.links = el("p", { class: "exports" });
		this.headers = COLUMNS.map((c) => el("th", { scope: "col", class: c.text || c.drawn ? null : "num", title: c.about, "data-column": c.id },
			c.drawn ? c.title : el("button", { type: "button", class: "plain", onclick: () => this.sort(c) }, c.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
		this.body = el("tbody");
		this.caption = el("caption");
		this.root = el("div", { class: "sum" }, this.sentence, this.totals, this.light, this.list, this.box, this.who,
			el("div", { class: "toolbar" }, this.input, this.groups),
			el("div", { class: "scroll", role: "region", "aria-label": "Locations", tabindex: 0 },
				el("table", { class: "rows summed" }, this.caption, el("thead", {}, el("tr", {}, this.headers)), this.body)), this.further, this.links);
		this.family = new Poll(() => fetchJSON(`${mount()}/family.json`), EVERY, { data: (d) => this.showFamily(d), lost: (e) => this.lost(e) });
		this.table = new Poll(() => fetchJSON(`${base()}/each/0.json?${tableQuery(this.state, this.limit)}`), TABLE_EVERY,
			{ data: (rows) => this.showRows(rows), lost: (e) => this.lost(e) });
	}

	// The curves of each process, one after the other; one that doesn't tell any is left out.
	async askTrends() {
		const out = [];
		for (const { pid } of this.there)
			out.push(await fetchJSON(`${mount()}/${pid}/history/locations.json?range=15m`).catch(() => null));
		return out.filter(Boolean);
	}

	start() {
		this.curves = new Poll(() => this.askTrends(), TRENDS_EVERY, { data: (told) => { this.told = told; this.showTrends(); }, lost: () => {} });
		stay(() => this.light.dataset.state === "gone", (text) => setText(this.light.lastChild, text));
		addEventListener("hashchange", () => {
			this.state = stateOf(location.hash);
			this.drawControls();
			this.table.now();
		});
		this.family.now();
		this.table.now();
	}

	showTrends() {
		const { told, span } = this, { group } = this.state;
		this.trends = told && hasTrends(group) ? sumTrends(told, span, group) : new Map();
		for (const [key, row] of this.rows)
			this.trend(row, key.slice(group.length + 1));
	}

	trend(row, location) {
		const sum = this.trends?.get(this.state.group === "line" ? plain(location) : location);
		drawTrend(row.cells[COLUMNS.findIndex((c) => c.drawn)], sum ? sum.values : []);
		setAttr(row.tr, "data-rest", sum?.rank > 0 ? null : "");
	}

	takeOver() {
		const main = document.querySelector("main");
		if (this.root.isConnected)
			return;
		for (const node of main.querySelectorAll(":scope > h1, :scope > .facts, :scope > .filter, :scope > .scroll, :scope > .exports, :scope > .pager"))
			node.remove();
		main.prepend(this.root);
		this.chart = stackedChart(this.box, {});
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

	showFamily({ processes, sentence, growing }) {
		const list = withLast(processes, this.last, Date.now() / 1000), there = list.filter(answers), t = totals(there);
		this.alive();
		say(this.sentence, sentence, growing !== null);
		setText(this.totals, `The sum of ${numberOf(list)}: live ${bytes(t.live)}, RSS ${bytes(t.rss)}.`);
		setAmount(this.figures.rss, bytesParts(t.rss));
		setAmount(this.figures.live, bytesParts(t.live));
		setText(this.figures.slope, perMinute(t.slope));
		const span = reach(there);
		setAttr(this.box, "aria-label", `The last ${duration(span)}: live bytes, now ${bytes(t.live)}, and RSS, now ${bytes(t.rss)}`);
		this.who.replaceChildren("Of ", ...there.flatMap((p, i) => [i ? ", " : "", el("a", { href: `${mount()}/${p.pid}/`, title: nameOf(p) }, `pid ${p.pid}`), ` (${bytes(p.rss_bytes)})`]),
			...list.filter((p) => !answers(p)).map((p) => `. Not in the sum: ${p.pid ? `pid ${p.pid}` : nameOf(p)}, which ${p.state}${p.seen ? `; it had ${bytes(p.rss_bytes)} at ${clock(p.seen, true)}` : ""}`),
			". RSS counts shared pages in each of them. ", el("a", { href: `${mount()}/family` }, "Side by side"));
		this.takeOver();
		this.draw(there, span);
		this.span = span;
		const first = !this.there;
		this.there = there;
		if (first)
			this.curves.now();
	}

	// RSS as a line, live memory and the rest below it
	draw(there, span) {
		const now = Date.now() / 1000, rss = sumCurve(there, "rss"), live = new Map(sumCurve(there, "live"));
		const t = rss.map(([ago]) => now - ago), sums = rss.map(([, v]) => v), below = rss.map(([ago]) => live.get(ago) ?? null);
		this.chart.set([t, sums, below, below, below, sums, t.map(() => null)], now - span, now);
	}

	// Columns and a group that only processes with stacks have
	drawKinds() {
		const { kinds } = this;
		COLUMNS.forEach((c, i) => { this.headers[i].hidden = (Boolean(c.kinds) && !kinds) || (c.drawn && !hasTrends(this.state.group)); });
		for (const button of this.groups.children)
			button.hidden = button.dataset.group === "kind" && !this.stacks && this.state.group !== "kind";
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
			this.headers[i].classList.toggle("by", c.id === sort);
			if (!c.drawn)
				setText(this.headers[i].querySelector(".arrow"), c.id === sort ? (way === "ascending" ? "\u25b4" : "\u25be") : "");
		});
		this.links.replaceChildren("All rows as ", ...["tsv", "csv", "json"].flatMap((form) =>
			[el("a", { href: `${base()}/each/0.${form}?${tableQuery(this.state, null)}` }, form.toUpperCase()), " "]));
	}

	showRows(rows) {
		if (this.grouped !== this.state.group) {
			this.grouped = this.state.group;
			this.showTrends();
		}
		this.stacks = rows.length ? "kind" in rows[0] : this.stacks;
		this.kinds = this.state.group !== "kind" && rows.some((r) => r.kind); // where it says something
		this.alive();
		this.drawControls();
		this.takeOver();
		setText(this.caption, rows.length ? (rows.length < this.limit ? `${count(rows.length)} rows` : `The first ${count(this.limit)} rows`) : this.state.q ? `No location contains \u201c${visible(this.state.q)}\u201d.` : "Nothing was allocated yet.");
		this.further.hidden = rows.length < this.limit;
		this.most = Object.fromEntries(BARS.map((id) => [id, Math.max(1, ...rows.map((r) => Math.abs(r[id])))]));
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
		const row = { cells: COLUMNS.map((c) => (c.drawn ? trendCell() : c.text ? el("td", { class: "location" }, where(r.location, this.state.group === "line" ? `${base()}/at/${encodeLocation(r.location)}` : null)) :
			el("td", { class: "num" }, el("span"), BARS.includes(c.id) ? el("i", { "aria-hidden": "true" }) : null))) };
		row.tr = el("tr", {}, row.cells);
		this.rows.set(key, row);
		this.trend(row, r.location);
		return row;
	}

	fill(row, r) {
		COLUMNS.forEach((c, i) => {
			if (c.drawn)
				row.cells[i].hidden = !hasTrends(this.state.group);
			if (c.text || c.drawn)
				return;
			const cell = row.cells[i], before = cell.textContent;
			cell.hidden = Boolean(c.kinds) && !this.kinds;
			setAmount(cell.firstChild, c.show(r, document.documentElement.dataset.life));
			if (BARS.includes(c.id))
				cell.lastChild.style.width = `${Math.abs(r[c.id]) / this.most[c.id] * 100}%`;
			if (c.exact)
				setAttr(cell, "title", c.exact(r));
			setAttr(cell, "class", `num${BARS.includes(c.id) ? " bar" : ""}${c.id === this.state.sort ? " by" : ""}${c.id === "growth" ? r.growth > 0 ? " more" : r.growth < 0 ? " less" : "" : ""}`);
			if (before && before !== cell.textContent)
				flash(cell.firstChild);
		});
	}
}
