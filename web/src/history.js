// SPDX-License-Identifier: GPL-2.0-or-later
// history.js - the process as a whole over time: parts of the time that the
// server kept, as they were asked for, and what came since, a point a second.

const FINE = 900;  // points of the stream that are kept
const KEPT = 6;    // parts: what was looked at can be looked at again when the process has ended
const HOLE = 5;    // seconds without a point: the stream was away
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

const ends = (list) => [list.t[0], list.t[list.t.length - 1]];
const step = (list) => (list.t.length < 2 ? Infinity : (ends(list)[1] - ends(list)[0]) / (list.t.length - 1));

export class History {
	constructor() {
		this.stream = empty();
		this.kept = new Map(); // by what was asked for: columns
		this.events = [];      // {t, kind, text}
		this.slow = {};        // the last values of SLOW
		this.arenas = null;    // live and free bytes together, when free was told last
		this.begin = null;     // the first time that the server knows
		this.offset = null;    // Unix time of uptime 0
		this.limit = null;     // {bytes, of}: the smallest memory limit
	}

	// /history.json of a part of the time, as an object; key: what was asked for
	load(json, key = "") {
		const n = json.t.length;
		const part = Object.fromEntries(NAMES.map((k) => [k, json[k] || Array(n).fill(null)]));
		this.offset = json.unix - json.now;
		this.begin = json.first ?? this.begin;
		if (typeof json.limit_bytes === "number")
			this.limit = { bytes: json.limit_bytes, of: json.limit_of };
		this.events = [...json.events || []];
		this.kept.delete(key);
		if (n)
			this.kept.set(key, part);
		if (this.kept.size > KEPT)
			this.kept.delete(this.kept.keys().next().value);
		if (!n || part.t[n - 1] < json.now - HOLE)
			return; // not up to now, or in steps of minutes
		for (const name of SLOW)
			this.slow[name] = part[name][n - 1] ?? null;
		this.freeIs(this.slow.free, part.live[n - 1]);
		this.mend();
	}

	// The server knows what the stream missed: its points before a hole go, and parts that weren't known are.
	mend() {
		const { t } = this.stream;
		let from = t.length - 1;
		while (from > 0 && t[from] - t[from - 1] <= HOLE)
			from--;
		shorten(this.stream, t.length - Math.max(from, 0));
		for (const name of SLOW)
			this.stream[name] = this.stream[name].map((v, i) => v ?? (name === "free" ? this.freeAt(this.point(i)) : this.slow[name]));
	}

	point(i) {
		return { rss: this.stream.rss[i], live: this.stream.live[i], heap: this.stream.heap[i] };
	}

	freeIs(free, live) {
		this.arenas = typeof free === "number" && typeof live === "number" ? free + live : null;
	}

	// Free bytes at a point: blocks that became live since the server told them are subtracted, and freed ones
	// are added. All parts together are never more than RSS.
	freeAt({ rss, live, heap }) {
		if (this.arenas === null || typeof live !== "number")
			return this.slow.free ?? null;
		return Math.max(0, Math.min(this.arenas - live, typeof rss === "number" ? rss - live - (heap || 0) : Infinity));
	}

	// A /verdict.json. Its parts are newer than what /history.json said, unless it is about the past.
	learn({ now, range, parts }) {
		if (now - range.to > HOLE)
			return;
		for (const name of SLOW)
			if (typeof parts?.[name]?.now === "number")
				this.slow[name] = parts[name].now;
		if (typeof parts?.free?.now === "number")
			this.freeIs(parts.free.now, parts.live?.now ?? this.stream.live.at(-1));
	}

	get last() {
		return Math.max(-1, ...[this.stream, ...this.kept.values()].filter((list) => list.t.length).map((list) => ends(list)[1]));
	}

	// The first time that is known, or null
	get first() {
		const all = [this.stream, ...this.kept.values()].filter((list) => list.t.length).map((list) => list.t[0]);
		return this.begin ?? (all.length ? Math.min(...all) : null);
	}

	// A "point" event
	push(point) {
		const { t } = this.stream;
		if (t.length && point.t <= t[t.length - 1])
			return;
		add(this.stream, { ...this.slow, free: this.freeAt(point), ...point });
		shorten(this.stream, FINE);
	}

	// Columns for a plot of [from, to]: t, rss, live and the parts. The finest there is of each time.
	columns(from, to) {
		const out = empty();
		const lists = [...this.kept.values()].sort((a, b) => step(a) - step(b));
		// the values between t0 and t1, from the k-th list and those after it
		const fill = (k, t0, t1) => {
			const list = k < 0 ? this.stream : lists[k];
			if (!list || t0 > t1)
				return;
			const at = list.t.flatMap((t, i) => (t >= t0 && t <= t1 ? [i] : []));
			if (!at.length)
				return fill(k + 1, t0, t1);
			fill(k + 1, t0, list.t[at[0]] - 1);
			for (const i of at)
				for (const name of NAMES)
					out[name].push(list[name][i]);
			fill(k + 1, list.t[at[at.length - 1]] + 1, t1);
		};
		fill(-1, from, to);
		return out;
	}
}

// Memory that is neither live nor Ruby's heap pages nor free in the allocator's arenas: programs, stacks,
// mappings of others. null when RSS isn't known.
export function other(rss, live, heap, free) {
	return rss === null || live === null ? null : Math.max(0, rss - live - (heap || 0) - (free || 0));
}

// The limit to be drawn over these values of RSS, or null: one that is far above them would flatten the curve.
export function limitNear(limit, rss) {
	const most = Math.max(0, ...rss.filter((v) => v !== null));
	return limit && limit.bytes <= 3 * most ? limit.bytes : null;
}

// The layers of the stacked area, each the sum of those below it: live, + heap, + free, + other
export function stack({ rss, live, heap, free }) {
	const plus = (below, above) => below.map((v, i) => (v === null ? null : v + (above(i) || 0)));
	const withHeap = plus(live, (i) => heap[i]);
	const withFree = plus(withHeap, (i) => free[i]);
	return [live, withHeap, withFree, plus(withFree, (i) => other(rss[i], live[i], heap[i], free[i]))];
}
