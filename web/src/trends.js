// SPDX-License-Identifier: GPL-2.0-or-later
// trends.js - live bytes of several processes over time, by location or group: sums of what each of them has in
// /history/locations.json. Pure functions.

import { filled } from "./curves.js";
import { plain } from "./fleet.js";
import { dirOf, fileLength, fileOf, gemOf } from "./place.js";
import { POINTS } from "./spark.js";

// What the table calls a location's row
const NAMES = { line: ({ location }) => plain(location), file: fileOf, dir: dirOf, gem: gemOf };

export const hasTrends = (group) => group in NAMES;

// A process that wasn't there then has nothing. Before a location was told first it was part of the rest: its first
// value holds, so that it makes no step.
function add(to, { now, t }, values, span) {
	const first = values.find((v) => v !== null) ?? 0, n = to.length;
	for (let i = 0, k = -1; i < n; i++) {
		const at = now - span * (n - 1 - i) / (n - 1);
		while (k + 1 < t.length && t[k + 1] <= at)
			k++;
		if (at >= 0)
			to[i] += (k < 0 ? null : values[k]) ?? first;
	}
}

// answers: of each process; span: seconds up to now; group: of the table. Returns name -> {values, rank}: n values, evenly
// spaced; rank above 0: some process surely grows there.
export function sumTrends(answers, span, group, n = POINTS) {
	const out = new Map();
	for (const answer of answers)
		for (const [, location, length, kind, some, rank] of answer.rows) {
			const name = NAMES[group]({ location, kind, fileLength: fileLength(location, length, kind) });
			if (!out.has(name))
				out.set(name, { values: new Float64Array(n), rank: 0 });
			const sum = out.get(name);
			sum.rank += Math.max(rank ?? 0, 0);
			add(sum.values, answer, filled(some, answer.t), span);
		}
	return out;
}
