// SPDX-License-Identifier: GPL-2.0-or-later
// group.js - sums of rows by file, folder or gem. The result looks like Rows
// to columns and sorting: typed arrays by slot, and names.

import { NUMBERS } from "./rows.js";
import { POINTS } from "./spark.js";

export const GROUPS = ["line", "file", "dir", "gem"];

// rows: Rows; slots: which of them, in any order; group: "file", "dir" or "gem"
export function sums(rows, slots, group) {
	const index = new Map();
	const out = { grouped: group, location: [], lower: [], fileLength: [], kind: [], members: [],
		id: [], slots: 0, now: rows.now, version: rows.version };
	const of = new Int32Array(slots.length);
	for (let i = 0; i < slots.length; i++) {
		const name = rows.name(slots[i], group);
		let g = index.get(name);
		if (g === undefined) {
			g = out.slots++;
			index.set(name, g);
			out.location.push(name);
			out.id.push(name);
			out.kind.push("group");
			out.fileLength.push(name.length);
			out.members.push([]);
		}
		of[i] = g;
		out.members[g].push(slots[i]);
	}
	for (const name of [...NUMBERS, "rate", "grown"]) {
		const from = rows[name], to = new Float64Array(out.slots);
		if (name === "lifeMax")
			for (let i = 0; i < slots.length; i++)
				to[of[i]] = Math.max(to[of[i]], from[slots[i]]);
		else
			for (let i = 0; i < slots.length; i++)
				to[of[i]] += from[slots[i]] || 0; // what isn't known of one line isn't missed in a sum
		out[name] = to;
	}
	out.order = (g) => out.members[g].reduce((sum, slot) => sum + (rows.rank[slot] || 0), 0) + out.grown[g] * 1e-9;
	out.sample = (g, t0, t1) => sumSamples(rows, out.members[g], t0, t1);
	return out;
}

// Live bytes of several rows at n evenly spaced times from t0 to t1. Of a row that wasn't known yet,
// the first value counts: one that is told late makes no step.
export function sumSamples(rows, members, t0, t1, n = POINTS) {
	const sum = new Float64Array(n), one = new Float64Array(n);
	for (const slot of members) {
		rows.sample(slot, t0, t1, n, one);
		const first = one.find((v) => v === v) ?? rows.liveBytes[slot];
		for (let i = 0; i < n; i++)
			sum[i] += one[i] === one[i] ? one[i] : first;
	}
	return sum;
}
