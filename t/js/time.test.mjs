// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { History, stack, other } from "../../web/src/history.js";
import { slope, floorRate, flatFor, risingSince, headline, locationSentence } from "../../web/src/verdict.js";
import { sample, paths, direction, WIDTH, HEIGHT } from "../../web/src/spark.js";
import { Series, BYTES } from "../../web/src/series.js";

const range = (n, f = (i) => i) => Array.from({ length: n }, (_, i) => f(i));
const MB = 2 ** 20;

test("history: what the server kept, then the stream's points", () => {
	const h = new History();
	h.push({ t: 1000, rss: 9, live: 8, heap: null });
	h.load({ now: 999, unix: 5999, marks: [50], coarse: { t: [0, 60], rss: [1, 1], live: [1, 1], heap: [null, null] },
		fine: { t: [998, 999], rss: [5, 6], live: [5, 6], heap: [0, 0] } });
	assert.equal(h.offset, 5000);
	assert.deepEqual(h.fine.t, [998, 999, 1000], "a point that was here first stays");
	h.push({ t: 1000, rss: 1, live: 1, heap: 1, mark: null });
	assert.equal(h.fine.t.length, 3);
	h.push({ t: 1001, rss: 1, live: 1, heap: 1, mark: 1001 });
	assert.deepEqual(h.marks, [50, 1001]);
	assert.deepEqual(h.columns(0, 2000).t, [0, 60, 998, 999, 1000, 1001]);
	assert.deepEqual(h.columns(999, 1000).live, [6, 8]);
	for (let t = 1002; t < 3000; t++)
		h.push({ t, rss: 1, live: 1, heap: null });
	assert.equal(h.fine.t.length, 900);
	const { t } = h.columns(0, 3000);
	assert.ok(t.every((x, i) => !i || x > t[i - 1]), "in order");
	assert.ok(t.some((x) => x > 1100 && x < 2000), "minutes are kept of what was seconds");
});

test("history without Ruby, and with unknown numbers", () => {
	assert.deepEqual(stack({ rss: [10, null], live: [4, 4], heap: [null, 2] }), [[4, 4], [4, 6], [10, 6]]);
	assert.equal(other(10, 12, 0), 0);
	assert.equal(other(null, 12, 0), null);
});

test("slopes, and for how long it is flat", () => {
	assert.equal(slope(range(10), range(10, (i) => 3 * i + 7)), 3);
	assert.equal(slope([1], [1]), 0);
	assert.equal(flatFor(range(100), range(100, (i) => (i < 40 ? 10 * MB : 50 * MB))), 59);
	assert.equal(flatFor([], []), 0);
	assert.equal(flatFor(range(5), [1, 1, null, 1, null].map((v) => v && v * MB)), 3);
	assert.equal(risingSince(range(5), [3, 1, 2, 3, 4]), 1);
	assert.equal(risingSince(range(3), [3, 2, 1]), null);
});

test("the first sentence says what grows", () => {
	const t = range(600), up = range(600, (i) => 100 * MB + i * MB / 10);
	const said = headline({ t, live: up, top: true, topName: "a.rb:1", share: 0.9 });
	assert.deepEqual([said.growing, said.at], [true, "a.rb:1"]);
	assert.match(said.text, /^Live memory grows by 6\.00\u00a0MB a minute, 90\u00a0% of it at $/);
	const flat = headline({ t: range(840), live: range(840, () => 100 * MB), top: false, share: 0 });
	assert.deepEqual([flat.growing, flat.text], [false, "Nothing grows: live memory has been flat for 14 minutes"]);
	assert.match(headline({ t: [1], live: [1], top: false, share: 0 }).text, /^Watching/);
});

test("what only waits for a collection isn't growth", () => {
	const t = range(120);
	const teeth = range(120, (i) => 100 * MB + (i % 20) * MB);
	assert.equal(floorRate(t, teeth), 0);
	assert.equal(headline({ t: t.slice(0, 115), live: teeth.slice(0, 115), top: true, topName: "a.rb:1", share: 1 }).growing, false);
	const leak = teeth.map((v, i) => v + i * MB / 20);
	assert.ok(Math.abs(floorRate(t, leak) - MB / 20) < 1);
	assert.equal(headline({ t, live: leak, top: true, topName: "a.rb:1", share: 1 }).growing, true);
	const begins = range(120, (i) => (i < 5 ? 0 : 50 * MB) + i * MB / 20); // 3 MB a minute, after a start
	assert.ok(Number(/by ([\d.]+)/.exec(headline({ t, live: begins, top: false, share: 0 }).text)[1]) < 20);
	assert.equal(floorRate([1], [1]), 0);
	assert.equal(floorRate([0, 1, 2, 3], [null, 5, null, null]), 0);
});

test("of rows, that one grows whose lowest points rise", () => {
	const teeth = new Series(), leak = new Series();
	for (let i = 0; i <= 40; i++) {
		teeth.push(i, (i % 10) * MB, 0, 0, 0);
		leak.push(i, i * MB / 10, 0, 0, 0);
	}
	assert.equal(teeth.rise(BYTES, 0, 39), 0);
	assert.ok(leak.rise(BYTES, 0, 40) > MB);
	assert.equal(new Series().rise(BYTES, 0, 40), 0);
	const once = new Series(); // grew at the very start, never again
	once.push(0, 0, 0, 0, 0);
	once.push(1, 9 * MB, 0, 0, 0);
	assert.equal(once.rise(BYTES, 2, 40), 0);
});

test("a location's sentence", () => {
	const row = { live: 98112, liveBytes: 230 * MB, frees: 0, lifeSum: 0 };
	const t = range(60), v = range(60, (i) => 200 * MB + i * MB / 2);
	const bySize = [{ from: 2048, to: 4095, count: 90000 }, { from: 4096, to: 8191, count: 8112 }];
	const s = locationSentence({ row, t, v, offset: 0, bySize, lifeUnit: "gc" });
	assert.match(s, /^98,112 blocks live, 230\u00a0MB, growing by 30\.0\u00a0MB a minute since \d\d:\d\d, .*; none was freed; most are 2\u20134\u00a0KB\.$/);
	const still = locationSentence({ row: { live: 1, liveBytes: 100, frees: 3, lifeSum: 6 }, t: [0, 60], v: [100, 100], offset: 0, bySize: [], lifeUnit: "gc" });
	assert.equal(still, "1 block live, 100\u00a0B, the same for 60 seconds; 3 of 4 were freed, after 2 collections on average.");
});

test("curves share a time axis and fill their own height", () => {
	const s = new Series();
	s.push(0, 1000, 0, 0, 0);
	s.push(50, 2000, 0, 0, 0);
	const v = sample(s, 0, 100, 11);
	assert.deepEqual([...v.slice(4, 7)], [1000, 2000, 2000]);
	assert.equal(direction(v), 1);
	const { line, area } = paths(v);
	const ys = [...line.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])]);
	assert.deepEqual(ys.map(([x]) => x), [0, 4 * WIDTH / 10, 5 * WIDTH / 10, WIDTH].map((x) => Number(x.toFixed(1))), "where it bends only");
	assert.ok(ys.every(([, y]) => y >= 0 && y <= HEIGHT));
	assert.ok(ys[0][1] > ys[3][1], "more is higher");
	assert.ok(area.startsWith(line) && area.endsWith("Z"));
	assert.deepEqual([...sample(new Series(), 0, 1, 3)], [0, 0, 0]);
});

test("a change of a thousandth looks flat", () => {
	const { line } = paths([1e6, 1e6 + 1000]);
	const [a, b] = [...line.matchAll(/ ([\d.]+)/g)].map((m) => Number(m[1]));
	assert.ok(Math.abs(a - b) < HEIGHT / 4, line);
	assert.equal(direction([1e6, 1e6 + 1000]), 0);
	assert.equal(direction([100, 50]), -1);
	assert.equal(paths([]), null);
});
