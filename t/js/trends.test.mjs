// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { sumTrends } from "../../web/src/trends.js";

const answer = (now, t, rows) => ({ now, t, rows: rows.map(([location, values, rank, kind = "ruby"], i) => [i + 1, location, -1, kind, values, rank]) });
const values = (sums, name) => [...sums.get(name).values];

test("the curves of processes are added up at the same times before now", () => {
	const a = answer(100, [0, 50, 100], [["/srv/a.rb:1", [10, 20, 30], 0]]);
	const b = answer(1000, [900, 950, 1000], [["/srv/a.rb:1", [1, 2, 3], 2], ["/srv/a.rb:2", [5], null]]);
	const sums = sumTrends([a, b], 100, "line", 3);
	assert.deepEqual(values(sums, "/srv/a.rb:1"), [11, 22, 33]);
	assert.deepEqual([...sums].map(([name, { rank }]) => [name, rank]), [["/srv/a.rb:1", 2], ["/srv/a.rb:2", 0]]);
	assert.deepEqual(values(sumTrends([a, b], 100, "file", 3), "/srv/a.rb"), [16, 27, 38]);
});

test("a process that began later had nothing; a location that is told late makes no step", () => {
	const young = answer(40, [0, 20, 40], [["/srv/a.rb:1", [8, 8, 8], 0]]);
	const late = answer(500, [400, 450, 500], [["/srv/a.rb:1", [null, null, 7], 0]]);
	assert.deepEqual(values(sumTrends([young, late], 100, "line", 3), "/srv/a.rb:1"), [7, 7, 15]);
});

test("a native location is the same one at another address", () => {
	const at = (address) => answer(10, [0, 10], [[`/lib/libc.so(+0x12) [0x${address}]`, [1], 0, "native"]]);
	assert.deepEqual(values(sumTrends([at("7f01"), at("7f02")], 10, "line", 2), "/lib/libc.so(+0x12)"), [2, 2]);
});
