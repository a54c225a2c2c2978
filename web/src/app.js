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
import { stay } from "./stay.js";
import { Status } from "./status.js";
import { Asks } from "./asks.js";
import { Mark } from "./mark.js";
import { Generations } from "./generations.js";
import { Address } from "./address.js";
import { span, asked } from "./state.js";
import { shown, COLUMNS } from "./columns.js";
import { follow } from "./server.js";
import { tsv, save } from "./save.js";
import { about, count, visible, bytes, clock, moment } from "./format.js";
import { Switcher } from "./switcher.js";
import { fit } from "./fit.js";
import { pageKeys } from "./keys.js";

const HOLD = 3000; // the order stays while somebody points at the rows
const GRACE = 1000; // a tab that is hidden for less keeps its stream
const FIRST = 200; // ms that the table waits for the server's curves at most: it is in order by then

export class App {
	constructor() {
		this.address = new Address();
		this.state = this.address.read();
		this.rows = new Rows();
		this.view = new View(this.rows);
		this.history = new History();
		this.generations = new Generations();
		this.mark = new Mark(this.rows);
		this.hello = null;
		this.point = null;
		this.away = false;
		this.verdict = null;   // the server's, of what is shown
		this.refusal = null;   // or why there is none
		this.early = {};       // answers from before it was known which process this is
		this.gap = false;      // was the stream closed for some time?
		this.settled = false;  // the first curves are here, or won't be soon
		this.pointedAt = -Infinity;
		this.prepared = 0;
		const draw = () => this.ask({ place: true });
		this.headline = new Headline(this.history, {
			// once more: none is chosen, as at first
			range: (range) => this.set({ range: range === this.state.range && this.state.from === null ? null : range, from: null, to: null }),
			select: (from, to) => this.set(from === null ? { from: null, to: null } : { from: Math.max(0, Math.round(from)), to: Math.round(to) + 1 }),
			open: (at) => this.set({ at }),
		});
		this.controls = new Controls({ save: () => this.save(), mark: () => this.setMark(true), unmark: () => this.setMark(false),
			changed: () => this.asks.again("history", "verdict") });
		this.toolbar = new Toolbar({ set: (change, replace) => this.set(change, replace), down: () => this.table.focus() });
		this.table = new Table({ sort: (c) => this.sort(c), open: (slot) => this.open(slot), draw });
		this.map = new TreeMap({ zoom: (zoom) => this.set({ zoom }), open: (at) => this.set({ at }), draw: () => this.ask({}) });
		this.one = new One({ back: () => this.set({ at: null }), draw: () => this.ask({}) });
		this.status = new Status();
		this.browse = el("section", { class: "browse", "aria-label": "Locations" }, this.toolbar.root, this.table.root, this.map.root);
		this.asks = new Asks({
			start: () => this.hello?.start ?? null,
			// a hidden tab's title is about now
			key: (kind) => (kind === "whole" || document.hidden ? "" : kind === "kinds" ? (this.kindsWanted ? "" : null) : this.possible ? asked(this.state) : null),
			looking: () => !this.away,
			verdict: (json, key) => this.answered("verdict", json, key),
			curves: (json, key) => this.answered("curves", json, key),
			kinds: (json, key) => this.answered("kinds", json, key),
			history: (json, key) => this.answered("history", json, key),
			whole: (json) => this.answered("whole", json, ""),
			refused: (kind, why) => this.refused(kind, why),
		});
		this.root = el("div", { class: "app" }, this.controls.messages, this.status.notes, this.headline.root, this.browse, this.one.root);
	}

	start() {
		this.status.attach(document.querySelector("header"), this.controls.root);
		new Switcher(() => this.hello?.pid).attach(document.querySelector("header"));
		pageKeys();
		for (const event of ["popstate", "hashchange"])
			addEventListener(event, () => this.take(this.address.read()));
		addEventListener("keydown", (e) => this.press(e));
		stay(() => this.away, (text) => this.controls.say(text));
		this.table.body.addEventListener("pointermove", () => { this.pointedAt = performance.now(); }, { passive: true });
		this.table.body.addEventListener("pointerleave", () => { this.pointedAt = -Infinity; });
		this.stream = follow({
			hello: (h) => this.greet(h),
			rows: (e) => { this.rows.apply(e); this.takeOver(); this.ask({ data: true }); this.prepare(); },
			point: (p) => this.tick(p),
			lost: (why) => this.lost(why),
		});
		document.addEventListener("visibilitychange", () => this.seen());
		this.seen();
		this.asks.begin();
		setTimeout(() => this.settle(), FIRST);
	}

	// A browser has six connections for a host: a tab that nobody sees doesn't keep one.
	seen() {
		clearTimeout(this.hiding);
		if (document.hidden)
			this.hiding = setTimeout(() => { this.stream.close(); this.gap = true; }, this.hello ? GRACE : 0);
		else {
			this.stream.open();
			this.asks.look();
			this.ask({ data: true, times: true });
		}
	}

	settle() {
		this.settled = true;
		this.takeOver();
		this.ask({ data: true });
	}

	// The table that the server made stays until there is a better one.
	takeOver() {
		if (this.root.isConnected || !this.settled || !(this.rows.told || this.point))
			return;
		document.querySelector("main").replaceChildren(this.root);
		document.documentElement.classList.add("taken");
		this.headline.start();
	}

	// Names of gems are made while there is nothing else to do: the first filter by
	// gem shouldn't wait for 50,000 of them.
	prepare(from = 0) {
		const { rows } = this;
		if (!rows.told || this.prepared >= rows.version)
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
		this.mark.recall(hello.start);
		const { early } = this;
		this.early = {};
		for (const [kind, [json, key]] of Object.entries(early))
			if (json.start === undefined || json.start === hello.start)
				this.answered(kind, json, key);
			else
				this.asks.again(kind);
		if (this.gap)
			this.asks.again("history", "verdict", "curves");
		this.gap = false;
		this.asks.look();
		this.ask({ data: true });
	}

	// Another process answers now: nothing of the last one holds.
	another() {
		this.rows.clear();
		this.rows.takeCurves(null);
		this.rows.learn(null);
		this.rows.kinds.clear();
		Object.assign(this.history, new History());
		this.generations = new Generations();
		this.point = this.verdict = null;
		this.controls.say(`Another process answers now: all figures are new. Before it was pid ${this.hello.pid}.`);
		this.asks.again("verdict", "curves", "history", "kinds");
		if (this.state.from !== null)
			this.set({ from: null, to: null });
	}

	tick(point) {
		const before = this.point;
		this.point = point;
		this.history.push(point);
		this.rows.tick(point.t);
		this.rows.exact = !point.sampled && !point.live_samples;
		this.generations.note(point.t, point.generation);
		if (before && ["mark", "resets", "paused", "sampled"].some((k) => before[k] !== point[k]))
			this.asks.again("history", "verdict");
		this.takeOver();
		this.title();
		this.ask({ data: true });
	}

	// An answer to what was asked beside the stream
	answered(kind, json, key) {
		if (document.hidden && kind === "verdict")
			this.title(json);
		if (!this.hello) {
			this.early[kind] = [json, key];
		} else if (kind === "history" || kind === "whole") {
			this.history.load(json, kind === "whole" ? "range=all" : key);
		} else if (kind === "kinds") {
			this.rows.kinds.load(json);
		} else if (key !== asked(this.state)) {
			return; // another time is shown by now
		} else if (kind === "curves") {
			this.rows.takeCurves(json);
			this.settle();
		} else {
			this.verdict = json;
			this.rows.learn(json);
			this.refusal = null;
			this.history.learn(json);
		}
		this.ask({ data: true });
	}

	refused(kind, error) {
		if (kind === "verdict")
			this.refusal = error.status ? error.message : null;
		if (kind === "curves")
			this.settle();
		if (document.hidden && !error.status)
			this.title(null);
		this.ask({ data: true });
	}

	lost(why) {
		this.away = this.gap = true;
		this.status.lost(why, this.hello);
		this.ask({ data: true });
	}

	/* --- what the user does ------------------------------------------------ */

	set(change, replace) {
		const before = this.state;
		this.state = { ...before, ...change };
		if ("group" in change)
			this.state.zoom = [];
		this.address.write(this.state, replace);
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
		if (["group", "q", "columns"].some((k) => before[k] !== state[k]))
			this.asks.look(); // kinds may be needed now
		if (["range", "from", "to"].some((k) => before[k] !== state[k])) {
			what.data = true; // growth is another one
			this.verdict = this.refusal = null;
			this.rows.learn(null);
			this.pointedAt = -Infinity;
			this.asks.look();
		}
		if (before.q !== state.q)
			what.typed = true;
		this.ask(what);
	}

	sort(column) {
		const now = effectiveSort(this.state, this.since());
		const same = now.id === column.id;
		this.set({ sort: column.id, desc: same ? !now.descending : !column.text }, true);
	}

	open(slot) {
		const { source } = this.view;
		const name = source.location[slot];
		if (!source.grouped)
			this.set({ at: name });
		else
			this.set({ group: "line", q: `${["gem", "kind"].includes(source.grouped) ? `${source.grouped}:` : ""}"${name}"` });
	}

	press(event) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
			return;
		if (event.key === "/" && !typing) {
			event.preventDefault();
			if (this.state.at !== null)
				this.set({ at: null });
			this.back = false;
			this.show(); // at once: the next key comes before the next frame
			this.toolbar.input.focus();
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

	// Is anything shown that kinds of memory are needed for?
	get kindsWanted() {
		const { state } = this;
		return Boolean(this.hello?.stacks) && state.at === null &&
			(state.group === "kind" || /kind:/i.test(state.q) || shown(state.columns, true).some((c) => c.kinds));
	}

	// Can there be anything of the times that are asked for?
	get possible() {
		const { from, to } = this.state;
		return from === null || (to > from && from <= Math.max(this.rows.now, this.hello?.uptime || 0));
	}

	// The time whose growth is shown: {kind, text, about, from, to}
	since() {
		const { state, history, mark } = this;
		const now = Date.now() / 1000, at = (t) => moment(t + (history.offset || 0), now);
		if (state.from !== null)
			return { kind: "range", from: state.from, to: state.to, text: this.headline.times(state.from, state.to), about: "Here: at the end of the selected part of the time, less at its beginning." };
		if (mark.t !== null)
			return { kind: "mark", text: `since mark ${at(mark.t)}`, about: "Here: since the mark that was set in this tab." };
		const reset = history.events.findLast((e) => e.kind === "reset");
		if (reset)
			return { kind: "reset", text: `since reset ${at(reset.t)}`, about: "Here: since the counters were reset." };
		return this.point?.resets ? { kind: "reset", text: "since reset", about: "Here: since the counters were reset." } : { kind: "start", text: "since start", about: "Here: since the process started." };
	}

	// {from, to} of the growth that is shown, as /flame is asked for it; null: since the start or a reset
	growthTimes() {
		const { kind, from, to } = this.since();
		return kind === "range" ? { from, to } : kind === "mark" ? { from: Math.floor(this.mark.t) } : null;
	}

	setMark(on) {
		if (on && !this.rows.told)
			return "Mark: not all rows are here yet; try again in a moment.";
		if (on)
			this.mark.set(this.hello.start);
		else
			this.mark.clear();
		this.pointedAt = -Infinity;
		this.ask({ data: true });
		const said = on ? `Marked: this tab shows growth since ${clock(this.mark.t + this.history.offset, true)}.` : "The mark is gone.";
		return on && this.state.from !== null ? `${said} It is seen when all times are shown again.` : said;
	}

	save() {
		const { source, order } = this.view;
		save(`mwrap-${this.hello.pid}-${clock(this.history.offset + this.rows.now).replace(":", "")}.tsv`, tsv(source, order));
		return `${count(order.length)} rows were saved.`;
	}

	// what: {data: numbers changed; times: other times are shown; typed: in the filter; place: only where it scrolled to}
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
		this.show();
		this.one.show(state.at, this.rows, this.hello);
		this.controls.update({ point: this.point, readOnly: !this.hello || this.hello.read_only, away: this.away, pid: this.hello?.pid,
			marked: this.mark.t !== null, kept: this.rows.size > 0 });
		this.status.update(this.hello, this.point, this.away);
		const times = span(state, this.rows.now);
		const life = { unit: this.hello?.life_unit, ago: (n) => this.generations.ago(n) };
		if (state.at !== null)
			this.one.update(this.rows, { span: times, query: asked(state), times: this.growthTimes(), offset: this.history.offset || 0, life, away: this.away, start: () => this.hello.start });
		else
			this.drawAll(todo, times, life);
		this.title();
	}

	// All locations, or one
	show() {
		this.headline.root.hidden = this.browse.hidden = this.state.at !== null;
		this.one.root.hidden = this.state.at === null;
	}

	drawAll(todo, times, life) {
		const { state, view, rows } = this;
		const since = { ...this.since(), same: !todo.data };
		// a keystroke in the filter needs no sorting: the numbers are those of the last time
		const hold = !todo.data || performance.now() - this.pointedAt < HOLD;
		const sort = view.update(state, since, hold);
		this.toolbar.update(state, this.summary(), this.found(), Boolean(this.hello?.stacks));
		this.table.root.hidden = state.view !== "table";
		this.map.root.hidden = state.view !== "map";
		if (state.view === "map")
			this.map.update(rows, state.group === "line" ? view.order : view.matching(state, view.all), state.group, state.zoom, since.text);
		else
			this.drawTable(sort, { span: times, since, life, quick: todo.typed });
		if (todo.data || todo.times) {
			this.headline.update(state, rows.now, this.mark.t, this.possible ? this.growthTimes() : null);
			this.headline.say(this.possible ? this.verdict : null, this.until(), this.possible || !this.hello ? this.refusal : "there is nothing of that time");
		}
		if (this.back) {
			this.back = false;
			this.table.focus();
		}
	}

	drawTable(sort, how) {
		const { state, view } = this;
		let columns = shown(state.columns, this.hello?.stacks);
		if (!state.columns) // a kind is shown where it says something
			columns = fit(columns.filter((c) => !c.kinds || (state.group !== "kind" && !this.rows.kinds.none)), sort.id, innerWidth);
		if (!columns.some((c) => c.id === sort.id)) // the sort column is always visible
			columns = COLUMNS.filter((c) => c.id === sort.id || columns.includes(c));
		setText(this.table.empty, this.nothing());
		this.table.update(view, columns, sort, how);
	}

	// Since when the sentence doesn't tell how it is now, or null
	until() {
		if (this.away)
			return clock(this.status.since);
		return this.point?.paused && this.verdict?.kind !== "paused" ? "tracking was paused" : null;
	}

	nothing() {
		const { q } = this.state;
		return q ? `No location matches \u201c${visible(q)}\u201d. Esc clears the filter.` : "Nothing was allocated yet.";
	}

	// 12 of 300 locations
	found() {
		const n = this.view.matched;
		const things = { line: "location", file: "file", dir: "folder", gem: "gem", kind: "kind" }[this.state.group];
		const of = this.state.q && this.state.group === "line" ? ` of ${count(this.rows.size)}` : "";
		return `${count(n)}${of} ${things}${n === 1 && !of ? "" : "s"}`;
	}

	summary() {
		const { sums, growers } = this.view;
		return `${this.found()}${growers ? ` \u00b7 ${growers} grow${growers === 1 ? "s" : ""} steadily` : ""} \u00b7 ${about(sums.live)} live \u00b7 ${bytes(sums.liveBytes)}`;
	}

	// seen: the sentence that a hidden tab asked for, or null if nobody answered
	title(seen) {
		const now = seen === undefined ? this.point?.live : seen?.parts?.live?.now;
		const away = seen === undefined ? this.away : seen === null;
		const live = typeof now === "number" ? bytes(now) : "";
		const who = this.hello ? visible(this.hello.title || `pid ${this.hello.pid}`) : "";
		const title = `${away ? "\u25cb " : ""}${live ? `${live} live \u2013 ` : ""}${who}${who ? " \u2013 " : ""}mwrap`;
		if (document.title !== title)
			document.title = title;
	}
}
