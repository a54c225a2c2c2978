// SPDX-License-Identifier: GPL-2.0-or-later
// history.js - the process as a whole over time: what the server kept, and
// what came since. A point a second for a quarter of an hour, before that one
// a minute for a day, and before that some hundred back to the start.

const FINE = 900, COARSE = 1440, LONG = 720, STEP = 60;
export const PARTS = ["heap", "files", "tracker", "free", "anon", "stacks"];
const NAMES = ["t", "rss", "live", ...PARTS];
const SLOW = ["free", "anon", "stacks", "files", "tracker"]; // not in the stream: they stay until the server says anew

const empty = () => Object.fromEntries(NAMES.map((name) => [name, []]));

function add(to, point) {
	for (const name of NAMES)
		to[name].push(point[name] ?? null);
}

function shorten(list, n) {
	for (const name of NAMES)
		if (list[name].length > n)
			list[name].splice(0, list[name].length - n);
}

export class History {
	constructor() {
		this.fine = empty();
		this.coarse = empty();
		this.long = empty();
		this.events = [];    // {t, kind, text}
		this.slow = {};      // the last values of SLOW
		this.offset = null; // Unix time of uptime 0
	}

	// /history.json, as an object. Points that came by the stream already and are newer stay.
	load(json) {
		const newer = this.fine;
		this.offset = json.unix - json.now;
		for (const [name, n] of [["fine", FINE], ["coarse", COARSE], ["long", LONG]]) {
			const from = json[name] || empty();
			this[name] = Object.fromEntries(NAMES.map((k) => [k, from[k] ? [...from[k]] : Array(from.t.length).fill(null)]));
			shorten(this[name], n);
		}
		this.events = json.events ? [...json.events] : (json.marks || []).map((t) => ({ t, kind: "mark", text: "" }));
		for (const name of SLOW)
			this.slow[name] = this.fine[name][this.fine.t.length - 1] ?? null;
		for (let i = 0; i < newer.t.length; i++)
			if (newer.t[i] > this.last)
				add(this.fine, Object.fromEntries(NAMES.map((k) => [k, newer[k][i] ?? this.slow[k]])));
	}

	// The parts of a /verdict.json: newer than what /history.json said
	learn(parts) {
		for (const name of SLOW)
			if (typeof parts?.[name]?.now === "number")
				this.slow[name] = parts[name].now;
	}

	get last() {
		const { t } = this.fine.t.length ? this.fine : this.coarse;
		return t.length ? t[t.length - 1] : -1;
	}

	// The first time that is known, or null
	get first() {
		const all = [this.long, this.coarse, this.fine].filter((list) => list.t.length).map((list) => list.t[0]);
		return all.length ? Math.min(...all) : null;
	}

	// A "point" event
	push(point) {
		if (point.t <= this.last)
			return;
		point = { ...this.slow, ...point };
		add(this.fine, point);
		shorten(this.fine, FINE);
		const { t } = this.coarse;
		if (!t.length || point.t - t[t.length - 1] >= STEP) {
			add(this.coarse, point);
			shorten(this.coarse, COARSE);
		}
	}

	// Columns for a plot of [from, to]: t, rss, live and the parts. The finest there is of each time.
	columns(from, to) {
		const out = empty();
		const begins = (list) => (list.t.length ? list.t[0] : Infinity);
		const fine = begins(this.fine), coarse = Math.min(begins(this.coarse), fine);
		const take = (list, t0, t1) => {
			for (let i = 0; i < list.t.length; i++)
				if (list.t[i] >= t0 && list.t[i] < t1)
					for (const name of NAMES)
						out[name].push(list[name][i]);
		};
		take(this.long, from, Math.min(coarse, to + 1));
		take(this.coarse, from, Math.min(fine, to + 1));
		take(this.fine, Math.max(from, fine), to + 1);
		return out;
	}
}

// What is neither live nor Ruby's heap pages nor free in the allocator's arenas: programs, stacks,
// mappings of others. null when RSS isn't known.
export function other(rss, live, heap, free) {
	return rss === null || live === null ? null : Math.max(0, rss - live - (heap || 0) - (free || 0));
}

// The layers of the stacked area, each the sum of those below it: live, + heap, + free, + other
export function stack({ rss, live, heap, free }) {
	const plus = (below, above) => below.map((v, i) => (v === null ? null : v + (above(i) || 0)));
	const withHeap = plus(live, (i) => heap[i]);
	const withFree = plus(withHeap, (i) => free[i]);
	return [live, withHeap, withFree, plus(withFree, (i) => other(rss[i], live[i], heap[i], free[i]))];
}
