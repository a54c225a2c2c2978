// SPDX-License-Identifier: GPL-2.0-or-later
// group.js - sums of rows by file, folder, gem or kind of memory. The result looks like Rows
// to columns and sorting: typed arrays by slot, and names. A row may count to several kinds, a
// share of it to each.

import { NUMBERS, OBJECTS } from "./rows.js";
import { POINTS } from "./spark.js";
import { slopeKey } from "./sort.js";

export const GROUPS = ["line", "file", "dir", "gem", "kind"];

// Columns that are divided by shares of a row's total; the others by shares of its live bytes
const OF_TOTAL = ["total", "allocations", "frees", "lifeSum", "rate"];

// The group of each share of the rows: [names, {slot, group, live, total} as arrays]
function shares(rows, slots, group) {
	const index = new Map(), names = [];
	const slot = [], of = [], live = [], total = [];
	const add = (name, i, l, t) => {
		let g = index.get(name);
		if (g === undefined) {
			index.set(name, g = names.length);
			names.push(name);
		}
		slot.push(i);
		of.push(g);
		live.push(l);
		total.push(t);
	};
	for (const i of slots)
		if (group === "kind")
			for (const [name, l, t] of rows.kinds.parts(rows.id[i]))
				add(name, i, l, t);
		else
			add(rows.name(i, group), i, 1, 1);
	return { names, slot, of, live, total };
}

// rows: Rows; slots: which of them, in any order; group: "file", "dir", "gem" or "kind"
export function sums(rows, slots, group) {
	const { names, slot, of, live, total } = shares(rows, slots, group);
	const out = { grouped: group, location: names, lower: [], fileLength: names.map((n) => n.length), kind: names.map(() => "group"),
		id: names, slots: names.length, now: rows.now, version: rows.version, kinds: rows.kinds };
	const members = names.map(() => []), weights = names.map(() => []);
	for (let k = 0; k < slot.length; k++) {
		members[of[k]].push(slot[k]);
		weights[of[k]].push(live[k]);
	}
	out.members = members;
	for (const name of [...NUMBERS, ...OBJECTS, "rate", "grown"]) {
		const from = rows[name], to = new Float64Array(out.slots), part = OF_TOTAL.includes(name) ? total : live;
		if (name === "lifeMax")
			for (let k = 0; k < slot.length; k++)
				to[of[k]] = Math.max(to[of[k]], from[slot[k]]);
		else
			for (let k = 0; k < slot.length; k++)
				to[of[k]] += from[slot[k]] * part[k] || 0; // a sum leaves out a line's unknown value
		out[name] = to;
	}
	out.order = (g, descending) => slopeKey(members[g].reduce((sum, s, k) => sum + (rows.rank[s] * weights[g][k] || 0), 0), out.liveBytes[g], descending);
	out.sample = (g, t0, t1) => sumSamples(rows, members[g], t0, t1, POINTS, weights[g]);
	out.kindKey = (g) => (group === "kind" ? rows.kinds.keyFor(names[g]) : rows.kinds.keyOf(members[g].map((s) => [rows.id[s], rows.liveBytes[s], rows.total[s]])));
	out.kindSamples = (g) => members[g].reduce((sum, s) => sum + rows.kindSamples(s), 0);
	return out;
}

// Live bytes of several rows at n evenly spaced times from t0 to t1. Of a row that wasn't known yet,
// the first value counts: one that is told late makes no step. weights: the part of each row that counts.
export function sumSamples(rows, members, t0, t1, n = POINTS, weights = null) {
	const sum = new Float64Array(n), one = new Float64Array(n);
	members.forEach((slot, k) => {
		rows.sample(slot, t0, t1, n, one);
		const first = one.find((v) => v === v) ?? rows.liveBytes[slot], part = weights ? weights[k] : 1;
		for (let i = 0; i < n; i++)
			sum[i] += part * (one[i] === one[i] ? one[i] : first);
	});
	return sum;
}
