// SPDX-License-Identifier: GPL-2.0-or-later
// app.js - puts the parts together. State is in one place (state.js), all
// drawing happens once a frame at most, and only of what can be seen.

import { el, setText } from "./dom.js";
import { Rows } from "./rows.js";
import { View, effectiveSort } from "./view.js";
import { History } from "./history.js";
import { Headline } from "./headline.js";
import { Table } from "./table.js";
import { TreeMap } from "./map.js";
import { One } from "./one.js";
import { Controls } from "./controls.js";
import { Toolbar } from "./toolbar.js";
import { Status } from "./status.js";
import { parseState, formatState } from "./state.js";
import { shown, COLUMNS } from "./columns.js";
import { headline } from "./verdict.js";
import { follow, getHistory } from "./server.js";
import { about, count, visible, bytes } from "./format.js";
import { pieces } from "./place.js";

const HOLD = 3000; // the order stays while somebody points at the rows

export class App {
	constructor() {
		this.state = parseState(location.hash);
		this.rows = new Rows();
		this.view = new View(this.rows);
		this.history = new History();
		this.hello = null;
		this.point = null;
		this.away = false;
		this.pointedAt = -Infinity;
		this.prepared = 0;
		const draw = () => this.ask({ place: true });
		this.headline = new Headline(this.history, {
			range: (range) => this.set({ range, from: null, to: null }),
			select: (from, to) => this.set(from === null ? { from: null, to: null } : { from: Math.max(0, Math.round(from)), to: Math.round(to) + 1 }),
		});
		this.controls = new Controls();
		this.toolbar = new Toolbar({ set: (change, replace) => this.set(change, replace), down: () => this.table.focus() });
		this.table = new Table({ sort: (c) => this.sort(c), open: (slot) => this.open(slot), draw });
		this.map = new TreeMap({ zoom: (zoom) => this.set({ zoom }), open: (at) => this.set({ at }), draw: () => this.ask({}),
			pathOf: (slot) => [this.rows.name(slot, "gem"), this.rows.name(slot, "file")] });
		this.one = new One({ back: () => this.set({ at: null }), draw: () => this.ask({}) });
		this.status = new Status();
		this.browse = el("section", { class: "browse", "aria-label": "Locations" }, this.toolbar.root, this.table.root, this.map.root);
		this.root = el("div", { class: "app" }, this.controls.messages, this.status.notes, this.headline.root, this.browse, this.one.root);
	}

	start() {
		this.status.attach(document.querySelector("header"), this.controls.root);
		addEventListener("hashchange", () => this.take(parseState(location.hash)));
		addEventListener("keydown", (e) => this.press(e));
		this.table.body.addEventListener("pointermove", () => { this.pointedAt = performance.now(); }, { passive: true });
		this.table.body.addEventListener("pointerleave", () => { this.pointedAt = -Infinity; });
		follow({
			hello: (h) => this.greet(h),
			rows: (e) => { this.rows.apply(e); this.takeOver(); this.ask({ data: true }); this.prepare(); },
			point: (p) => this.tick(p),
			lost: (why) => this.lost(why),
		});
	}

	// The table that the server made stays until there is a better one.
	takeOver() {
		if (this.root.isConnected)
			return;
		document.querySelector("main").replaceChildren(this.root);
		document.documentElement.classList.add("taken");
		this.headline.start();
	}

	// Names of gems are made while there is nothing else to do: the first filter by
	// gem shouldn't wait for 50,000 of them.
	prepare(from = 0) {
		const { rows } = this;
		if (!rows.full || this.prepared >= rows.version)
			return;
		const idle = window.requestIdleCallback || ((f) => setTimeout(() => f({ timeRemaining: () => 5 }), 50));
		idle((deadline) => {
			let slot = from;
			while (slot < rows.slots && deadline.timeRemaining() > 1)
				for (const end = Math.min(slot + 100, rows.slots); slot < end; slot++)
					if (rows.used[slot])
						rows.gemLower(slot);
			if (slot < rows.slots)
				this.prepare(slot);
			else
				this.prepared = rows.version;
		});
	}

	greet(hello) {
		if (this.hello && this.hello.start !== hello.start)
			this.another();
		this.hello = hello;
		this.away = false;
		this.status.hello(hello);
		this.history.offset ??= hello.unix - hello.uptime;
		getHistory(hello.start).then((json) => {
			if (json && hello.start === this.hello.start)
				this.history.load(json);
			this.ask({ data: true });
		}, () => {});
		this.ask({ data: true });
	}

	// Another process answers now: nothing of the last one holds.
	another() {
		this.rows.clear();
		Object.assign(this.history, new History());
		this.point = null;
		setText(this.controls.said, `Another process answers now: what is shown is new. Before it was pid ${this.hello.pid}.`);
		if (this.state.from !== null)
			this.set({ from: null, to: null });
	}

	tick(point) {
		this.point = point;
		this.history.push(point);
		this.rows.tick(point.t);
		this.takeOver();
		this.ask({ data: true });
	}

	lost(why) {
		this.away = true;
		this.status.lost(why, this.hello);
		this.ask({});
	}

	/* --- what the user does ------------------------------------------------ */

	set(change, replace) {
		const before = this.state;
		this.state = { ...before, ...change };
		const url = location.pathname + location.search + formatState(this.state);
		clearTimeout(this.later);
		if (replace) // not at every keystroke: browsers count these
			this.later = setTimeout(() => history.replaceState(null, "", url), 200);
		else
			history.pushState(null, "", url);
		this.react(before);
	}

	take(state) {
		const before = this.state;
		this.state = state;
		this.react(before);
	}

	react(before) {
		const { state } = this;
		if (["q", "group", "sort", "desc"].some((k) => before[k] !== state[k]))
			this.table.top();
		if (before.at !== null && state.at === null)
			this.back = true;
		// also when it comes back: it isn't drawn while a location is looked at
		const what = {};
		if (["range", "from", "to", "at"].some((k) => before[k] !== state[k]))
			what.times = true;
		if (before.q !== state.q)
			what.typed = true;
		this.ask(what);
	}

	sort(column) {
		const now = effectiveSort(this.state, this.marked);
		const same = now.id === column.id;
		this.set({ sort: column.id, desc: same ? !now.descending : !column.text }, true);
	}

	open(slot) {
		const { source } = this.view;
		const name = source.location[slot];
		if (!source.grouped)
			this.set({ at: name });
		else
			this.set({ group: "line", q: source.grouped === "gem" ? `gem:"${name}"` : `"${name}"` });
	}

	press(event) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
			return;
		if (event.key === "/" && !typing) {
			event.preventDefault();
			if (this.state.at !== null)
				this.set({ at: null });
			this.ask({ focus: true });
		} else if (event.key === "Escape") {
			this.escape();
		} else if (event.key === "ArrowDown" && event.target === document.body && this.state.at === null && this.state.view === "table") {
			event.preventDefault();
			this.table.focus();
		}
	}

	// One step back: a location, a zoomed map, a range, a filter
	escape() {
		const s = this.state;
		if (s.at !== null)
			this.set({ at: null });
		else if (s.view === "map" && s.zoom.length)
			this.set({ zoom: s.zoom.slice(0, -1) });
		else if (s.q)
			this.set({ q: "" }, true);
		else if (s.from !== null)
			this.set({ from: null, to: null });
		else
			document.activeElement?.blur();
	}

	/* --- drawing ------------------------------------------------------------- */

	get marked() {
		return this.point?.mark !== null && this.point?.mark !== undefined;
	}

	// what: {data: numbers changed; times: other times are shown; typed: in the filter; place: only where it scrolled to; focus: the filter}
	ask(what) {
		this.todo = { ...this.todo, ...what, all: Boolean(this.todo?.all) || !what.place };
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			const { todo } = this;
			this.todo = null;
			if (this.root.isConnected)
				this.draw(todo);
		});
	}

	draw(todo) {
		this.table.read();
		if (!todo.all)
			return this.table.draw(false);
		const { state } = this;
		const one = state.at !== null;
		this.headline.root.hidden = this.browse.hidden = one;
		this.one.show(state.at, this.rows, this.hello);
		this.controls.update(this.point, !this.hello || this.hello.read_only, this.away, this.hello?.pid);
		this.status.update(this.hello, this.point, this.away);
		const span = Headline.span(state, this.rows.now);
		if (one)
			this.one.update(this.rows, span, this.history.offset || 0, this.hello?.life_unit, this.away);
		else
			this.drawAll(todo, span);
		if (todo.focus)
			this.toolbar.input.focus();
		this.title();
	}

	drawAll(todo, span) {
		const { state, view, rows } = this;
		// a keystroke in the filter needs no sorting: the numbers are those of the last time
		const hold = !todo.data || performance.now() - this.pointedAt < HOLD;
		const sort = view.update(state, this.marked, hold);
		this.toolbar.update(state, this.summary(), this.marked);
		this.table.root.hidden = state.view !== "table";
		this.map.root.hidden = state.view !== "map";
		if (state.view === "map")
			this.map.update(rows, state.group === "line" ? view.order : view.matching(state, view.all), state.zoom);
		else
			this.drawTable(sort, span, todo.typed);
		if (todo.data || todo.times)
			this.headline.update(state, rows.now, this.verdict(), () => this.openTop());
		if (this.back) {
			this.back = false;
			this.table.focus();
		}
	}

	drawTable(sort, [from, to], quick) {
		const { state, view, rows } = this;
		let columns = shown(state.columns, this.marked);
		if (!state.columns && innerWidth < 640) // a phone has room for what it is sorted by, and where
			columns = columns.filter((c) => c.fixed || c.id === sort.id || c.id === "trend");
		if (!columns.some((c) => c.id === sort.id)) // what it is sorted by can always be seen
			columns = COLUMNS.filter((c) => c.id === sort.id || columns.includes(c));
		// the curves begin where the page knows something
		const span = [Math.min(Math.max(from, rows.began ?? 0), to - 1), to];
		setText(this.table.empty, this.nothing());
		this.table.update(view, columns, sort, span, this.hello?.life_unit, quick);
	}

	nothing() {
		const { q } = this.state;
		return q ? `No location matches \u201c${visible(q)}\u201d. Esc clears the filter.` : "Nothing was allocated yet.";
	}

	summary() {
		const { view, rows } = this;
		const n = view.matched;
		const things = { line: "location", file: "file", dir: "folder", gem: "gem" }[this.state.group];
		const of = this.state.q && this.state.group === "line" ? ` of ${count(rows.size)}` : "";
		return `${count(n)}${of} ${things}${n === 1 && !of ? "" : "s"} \u00b7 ${about(view.sums.live)} live \u00b7 ${bytes(view.sums.liveBytes)}`;
	}

	verdict() {
		const { rows, history } = this;
		const now = rows.now;
		const c = history.columns(Math.max(0, now - 900), now);
		if (rows.size === 0)
			return { growing: false, text: "Nothing was allocated yet" };
		const { top, share } = rows.top(this.marked ? rows.mark : rows.growth);
		this.top = top;
		const name = top >= 0 ? visible(pieces(rows.location[top], rows.fileLength[top]).slice(1).join("")) : null;
		return headline({ t: c.t, live: c.live, top: top >= 0, topName: name, share });
	}

	openTop() {
		if (this.top >= 0)
			this.set({ at: this.rows.location[this.top] });
	}

	title() {
		const live = this.point ? bytes(this.point.live) : "";
		const title = `${this.away ? "\u25cb " : ""}${live ? `${live} live \u2013 ` : ""}${this.hello ? visible(this.hello.title || `pid ${this.hello.pid}`) : ""} \u2013 mwrap`;
		if (document.title !== title)
			document.title = title;
	}
}

