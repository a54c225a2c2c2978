// SPDX-License-Identifier: GPL-2.0-or-later
// history.js - the process as a whole over time: what the server kept, and
// what came since. A point a second for a quarter of an hour, before that one
// a minute for a day, as the server has it.

const FINE = 900, COARSE = 1440, STEP = 60;
const NAMES = ["t", "rss", "live", "heap"];

const empty = () => ({ t: [], rss: [], live: [], heap: [] });

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
		this.marks = [];
		this.offset = null; // Unix time of uptime 0
	}

	// /history.json, as an object. Points that came by the stream already and are newer stay.
	load(json) {
		const newer = this.fine;
		this.offset = json.unix - json.now;
		for (const [name, n] of [["fine", FINE], ["coarse", COARSE]]) {
			const from = json[name] || empty();
			this[name] = Object.fromEntries(NAMES.map((k) => [k, [...(from[k] || [])]]));
			shorten(this[name], n);
		}
		this.marks = [...(json.marks || [])];
		for (let i = 0; i < newer.t.length; i++)
			if (newer.t[i] > this.last)
				add(this.fine, Object.fromEntries(NAMES.map((k) => [k, newer[k][i]])));
	}

	get last() {
		const { t } = this.fine.t.length ? this.fine : this.coarse;
		return t.length ? t[t.length - 1] : -1;
	}

	// A "point" event
	push(point) {
		if (point.t <= this.last)
			return;
		add(this.fine, point);
		shorten(this.fine, FINE);
		const { t } = this.coarse;
		if (!t.length || point.t - t[t.length - 1] >= STEP) {
			add(this.coarse, point);
			shorten(this.coarse, COARSE);
		}
		if (point.mark !== null && point.mark !== undefined && !this.marks.includes(point.mark))
			this.marks.push(point.mark);
	}

	// Columns for a plot of [from, to]: t, rss, live, heap. Minutes where there are no seconds.
	columns(from, to) {
		const out = empty();
		const start = this.fine.t.length ? this.fine.t[0] : Infinity;
		const take = (list, t0, t1) => {
			for (let i = 0; i < list.t.length; i++)
				if (list.t[i] >= t0 && list.t[i] < t1)
					for (const name of NAMES)
						out[name].push(list[name][i]);
		};
		take(this.coarse, from, Math.min(start, to + 1));
		take(this.fine, Math.max(from, start), to + 1);
		return out;
	}
}

// What is neither live nor Ruby's heap pages: free memory of the allocator, the program
// itself, stacks. null when RSS isn't known.
export function other(rss, live, heap) {
	return rss === null || live === null ? null : Math.max(0, rss - live - (heap || 0));
}

// The layers of the stacked area, each the sum of those below it: live, + heap, + other
export function stack(columns) {
	const { rss, live, heap } = columns;
	const withHeap = live.map((v, i) => (v === null ? null : v + (heap[i] || 0)));
	return [live, withHeap, withHeap.map((v, i) => (v === null ? null : v + (other(rss[i], live[i], heap[i]) || 0)))];
}
