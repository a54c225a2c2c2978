// SPDX-License-Identifier: GPL-2.0-or-later
// group.js - sums of rows by file, folder or gem. The result looks like Rows
// to columns and sorting: typed arrays by slot, and names.

import { NUMBERS } from "./rows.js";
import { T, BYTES } from "./series.js";

export const GROUPS = ["line", "file", "dir", "gem"];

// rows: Rows; slots: which of them, in any order; group: "file", "dir" or "gem"
export function sums(rows, slots, group) {
	const index = new Map();
	const out = { grouped: group, location: [], lower: [], fileLength: [], kind: [], members: [],
		id: [], slots: 0, now: rows.now, began: rows.began, version: rows.version };
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
	for (const name of [...NUMBERS, "rate"]) {
		const from = rows[name], to = new Float64Array(out.slots);
		if (name === "lifeMax")
			for (let i = 0; i < slots.length; i++)
				to[of[i]] = Math.max(to[of[i]], from[slots[i]]);
		else
			for (let i = 0; i < slots.length; i++)
				to[of[i]] += from[slots[i]];
		out[name] = to;
	}
	out.slope = (g) => out.members[g].reduce((sum, slot) => sum + rows.slope(slot), 0);
	return out;
}

// Live bytes of several rows at n evenly spaced times from t0 to t1
export function sumSeries(rows, members, t0, t1, n) {
	const sum = new Float64Array(n);
	for (const slot of members) {
		const s = rows.series[slot];
		let p = -1;
		for (let i = 0; i < n; i++) {
			const t = t0 + (t1 - t0) * i / (n - 1);
			while (p + 1 < s.n && s.at(p + 1, T) <= t)
				p++;
			sum[i] += p >= 0 ? s.at(p, BYTES) : s.n ? s.at(0, BYTES) : 0;
		}
	}
	return sum;
}
