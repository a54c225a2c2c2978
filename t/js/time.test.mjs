// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { History, stack, other } from "../../web/src/history.js";
import { slope, floorRate, flatFor, spoken, togetherIn, locationSentence } from "../../web/src/verdict.js";
import { paths, direction, WIDTH, HEIGHT } from "../../web/src/spark.js";
import { Series } from "../../web/src/series.js";
import { Curves } from "../../web/src/curves.js";

const range = (n, f = (i) => i) => Array.from({ length: n }, (_, i) => f(i));
const MB = 2 ** 20;

const all = (t, free = 0, rss = t) => ({ t, rss, live: t, heap: t, files: t, tracker: t, free: t.map(() => free), anon: t, stacks: t });
const part = (t, now, more) => ({ now, unix: now + 4000, from: t[0], to: t[t.length - 1], ...all(t, 3), ...more });

test("history: what the server kept, then the stream's points", () => {
	const h = new History();
	h.push({ t: 1000, rss: 9, live: 8, heap: null });
	h.load(part([700, 850, 999], 999, { first: 20, events: [{ t: 10, kind: "annotation", text: "deploy-17" }] }));
	assert.equal(h.offset, 4000);
	assert.equal(h.first, 20);
	assert.deepEqual(h.events.map((e) => e.text), ["deploy-17"]);
	h.push({ t: 1000, rss: 1, live: 1, heap: 1 });
	h.push({ t: 1001, rss: 1, live: 1, heap: 1 });
	assert.deepEqual(h.columns(0, 2000).t, [700, 850, 999, 1000, 1001], "a point that was here first stays");
	assert.deepEqual(h.columns(999, 1000).live, [999, 8]);
	assert.deepEqual(h.columns(999, 1001).anon, [999, 999, 999], "the stream hasn't it: it is as it was told last");
	for (let t = 1002; t < 3000; t++)
		h.push({ t, rss: 1, live: 1, heap: null });
	assert.equal(h.stream.t.length, 900);
	assert.equal(h.last, 2999);
	assert.ok(h.columns(0, 3000).t.every((x, i, { [i - 1]: before }) => !i || x > before), "in order");
	assert.equal(new History().first, null);
	assert.equal(new History().last, -1);
	assert.deepEqual(new History().columns(0, 9).t, []);
});

test("history: parts of the time that were asked for fill each other", () => {
	const h = new History();
	h.load(part([0, 4000, 8000], 9000), "range=all");
	h.load(part([5000, 6000], 9000), "from=5000&to=6000");
	h.load(part([8600, 8800, 9000], 9000), "");
	for (let t = 9001; t < 9004; t++)
		h.push({ t, rss: 1, live: 1, heap: 1 });
	assert.deepEqual(h.columns(0, 9003).t, [0, 4000, 5000, 6000, 8000, 8600, 8800, 9000, 9001, 9002, 9003]);
	assert.deepEqual(h.columns(4500, 5500).t, [5000]);
	h.load(part([8700, 8900], 9003), "");
	assert.ok(!h.columns(0, 9003).t.includes(8600), "the same question: the newer answer");
	for (let k = 0; k < 20; k++)
		h.load(part([k], 9003), `from=${k}&to=${k}`);
	assert.ok(h.kept.size < 10, "few are kept");
});

test("history: what the stream missed is the server's", () => {
	const h = new History();
	h.push({ t: 100, rss: 1, live: 1, heap: 1 });
	h.push({ t: 300, rss: 1, live: 1, heap: 1 });
	h.load(part([50, 60], 300), "from=50&to=60");
	assert.deepEqual(h.columns(0, 400).t, [50, 60, 100, 300], "an answer about the past says nothing of the hole");
	h.load(part([99, 200, 299], 300));
	assert.deepEqual(h.columns(90, 400).t, [99, 200, 299, 300]);
	h.push({ t: 301, rss: 1, live: 1, heap: 1 });
	h.learn({ now: 301, range: { from: 200, to: 301 }, parts: { free: { now: 7 }, anon: { now: null } } });
	h.push({ t: 302, rss: 1, live: 1, heap: 1 });
	assert.deepEqual(h.columns(299, 302).files, [299, 299, 299, 299]);
	assert.deepEqual(h.columns(299, 302).anon, [299, 299, 299, 299]);
	h.load({ now: 400, unix: 4400, from: 390, to: 400, first: 3, ...all([]) });
	assert.equal(h.first, 3);
});

test("history: what is free follows what is live until it is told anew", () => {
	const h = new History();
	h.load({ now: 9, unix: 4009, from: 9, to: 9, ...all([9], 30, [100]), live: [40], heap: [10] });
	for (const live of [60, 20, 69, 95])
		h.push({ t: h.last + 1, rss: 100, live, heap: 10 });
	assert.deepEqual(h.columns(9, 13).free, [30, 10, 50, 1, 0]);
	h.learn({ now: 13, range: { from: 0, to: 5 }, parts: { free: { now: 5000 }, live: { now: 3000 }, files: { now: 7 } } });
	assert.equal(h.slow.files, 9, "what was is told of a part of the past");
	h.learn({ now: 13, range: { from: 0, to: 13 }, parts: { free: { now: 50 }, live: { now: 30 } } });
	h.push({ t: 14, rss: 100, live: 35, heap: 10 });
	h.push({ t: 15, rss: 70, live: 35, heap: 10 });
	h.push({ t: 16, rss: null, live: 35, heap: 10 });
	assert.deepEqual(h.columns(14, 16).free, [45, 25, 45]);
	const fresh = new History();
	fresh.push({ t: 1, rss: 100, live: 20, heap: 0 });
	assert.equal(fresh.columns(1, 1).free[0], null, "nobody has told yet");
	fresh.load({ now: 1, unix: 4001, from: 1, to: 1, ...all([1], 30, [100]), live: [25], heap: [0] });
	assert.deepEqual(fresh.columns(1, 1).free, [35]);
});

test("history without Ruby, and with unknown numbers", () => {
	assert.deepEqual(stack({ rss: [10, null], live: [4, 4], heap: [null, 2], free: [1, null] }), [[4, 4], [4, 6], [5, 6], [10, 6]]);
	assert.equal(other(10, 12, 0, 0), 0);
	assert.equal(other(10, 4, 1, 2), 3);
	assert.equal(other(null, 12, 0, 0), null);
});

test("slopes, and for how long it is flat", () => {
	assert.equal(slope(range(10), range(10, (i) => 3 * i + 7)), 3);
	assert.equal(slope([1], [1]), 0);
	assert.equal(flatFor(range(100), range(100, (i) => (i < 40 ? 10 * MB : 50 * MB))), 59);
	assert.equal(flatFor([], []), 0);
	assert.equal(flatFor(range(5), [1, 1, null, 1, null].map((v) => v && v * MB)), 3);
});

test("the first sentence is the server's, with a link in it", () => {
	const verdict = { sentence: "Grows at a.rb:1 as a.rb:1.", next: "Look there.", at: "/srv/a.rb:1", at_text: "a.rb:1", growing: true, confidence: 0.97 };
	assert.deepEqual(spoken(verdict, null), { text: "Grows at a.rb:1 as ", name: "a.rb:1", rest: ".", at: "/srv/a.rb:1", next: "Look there.", growing: true, title: "confidence: 97\u00a0%" });
	const was = spoken(verdict, "12:31");
	assert.deepEqual([was.text, was.growing], ["Until 12:31: Grows at a.rb:1 as ", false]);
	const flat = spoken({ sentence: "Nothing grows.", at: null, at_text: null, growing: false });
	assert.deepEqual([flat.text, flat.name, flat.rest, flat.next, flat.title], ["Nothing grows.", null, "", "", null]);
	assert.equal(spoken({ ...verdict, at_text: "elsewhere" }, null).name, null, "what isn't in the sentence is no link");
});

test("a file or a gem whose lines grow together is a link to them", () => {
	const text = "Live memory grows by 1 MB a minute, 98 % of that in app.rb, on 6 lines, most at ";
	const [before, link, after] = togetherIn(text, { group: "file", name: "/srv/a b/app.rb", text: "app.rb" });
	assert.deepEqual([before + link.name + after, link.name], [text, "app.rb"]);
	assert.deepEqual([...new URLSearchParams(link.href.slice(1))], [["q", '"/srv/a b/app.rb"'], ["group", "file"]]);
	const gem = togetherIn("all of that in the gem rack-3.1, on 2 lines.", { group: "gem", name: "rack-3.1", text: "rack-3.1" });
	assert.equal(new URLSearchParams(gem[1].href.slice(1)).get("q"), 'gem:"rack-3.1"');
	assert.deepEqual(togetherIn(text, null), [text]);
	assert.deepEqual(togetherIn("Nothing grows.", { group: "file", name: "/a.rb", text: "a.rb" }), ["Nothing grows."]);
});

test("what only waits for a collection isn't growth", () => {
	const t = range(120);
	const teeth = range(120, (i) => 100 * MB + (i % 20) * MB);
	assert.equal(floorRate(t, teeth), 0);
	const leak = teeth.map((v, i) => v + i * MB / 20);
	assert.ok(Math.abs(floorRate(t, leak) - MB / 20) < 1);
	assert.equal(floorRate([1], [1]), 0);
	assert.equal(floorRate([0, 1, 2, 3], [null, 5, null, null]), 0);
	const row = { live: 9, liveBytes: teeth[114], frees: 0, lifeSum: 0 };
	const said = (v) => locationSentence({ row, t: t.slice(0, 115), v: v.slice(0, 115), offset: 0, bySize: [], lifeUnit: "gc" });
	assert.match(said(teeth), /MB, up and down; none was freed\.$/);
	assert.match(said(leak), /MB, 5\.\d\d\u00a0MB more than 2 minutes ago; none/, "it grows only if the sentence's answer says so");
	assert.match(said(leak.map((v) => 300 * MB - v)), /MB less than 2 minutes ago/);
	assert.match(said(t.map((_, i) => 100 * MB + i * i * 1024)), /MB, 12\.7\u00a0MB more than 2 minutes ago/, "as much as it is, not as the slope says");
});

test("a location's sentence", () => {
	const row = { live: 98112, liveBytes: 230 * MB, frees: 0, lifeSum: 0 };
	const t = range(60), v = range(60, (i) => 200 * MB + i * MB / 2);
	const bySize = [{ from: 2048, to: 4095, count: 90000 }, { from: 4096, to: 8191, count: 8112 }];
	const s = locationSentence({ row, grows: { since: 7, rate: 30 * MB }, t, v, offset: 0, bySize, lifeUnit: "gc" });
	assert.match(s, /^98,112 blocks live, 230\u00a0MB, growing by 30\.0\u00a0MB a minute since \d\d:\d\d; none was freed; most are 2\u20134\u00a0KB\.$/);
	const still = locationSentence({ row: { live: 1, liveBytes: 100, frees: 3, lifeSum: 6 }, t: [0, 60], v: [100, 100], offset: 0, bySize: [], lifeUnit: "gc" });
	assert.equal(still, "1 block live, 100\u00a0B, the same for 60 seconds; 3 of 4 were freed, after 2 collections on average.");
});

test("curves share a time axis and fill their own height", () => {
	const s = new Series();
	s.push(0, 1000, 0, 0, 0);
	s.push(50, 2000, 0, 0, 0);
	const v = new Curves().sample(undefined, s, 0, 100, new Float64Array(11));
	assert.deepEqual([...v.slice(4, 7)], [1000, 2000, 2000]);
	assert.equal(direction(v), 1);
	const { line, area } = paths(v);
	const ys = [...line.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])]);
	assert.deepEqual(ys.map(([x]) => x), [0, 4 * WIDTH / 10, 5 * WIDTH / 10, WIDTH].map((x) => Number(x.toFixed(1))), "where it bends only");
	assert.ok(ys.every(([, y]) => y >= 0 && y <= HEIGHT));
	assert.ok(ys[0][1] > ys[3][1], "more is higher");
	assert.ok(area.startsWith(line) && area.endsWith("Z"));
});

test("a curve begins where something is known", () => {
	const v = [NaN, NaN, 100, 200];
	assert.match(paths(v, 30, 20).line, /^M20\.0 /);
	assert.ok(paths(v, 30, 20).area.endsWith("L30 20L20.0 20Z"));
	assert.equal(direction(v), 1);
	assert.equal(paths([NaN, NaN]), null);
	assert.equal(direction([NaN, NaN]), 0);
});

test("a change of a thousandth looks flat", () => {
	const { line } = paths([1e6, 1e6 + 1000]);
	const [a, b] = [...line.matchAll(/ ([\d.]+)/g)].map((m) => Number(m[1]));
	assert.ok(Math.abs(a - b) < HEIGHT / 4, line);
	assert.equal(direction([1e6, 1e6 + 1000]), 0);
	assert.equal(direction([1000, 500]), -1);
	assert.equal(paths([]), null);
});

// The server rounds to 64 bytes; the last value is the table's own.
test("what the server rounds is no change", () => {
	for (const last of [2080, 2140]) {
		const { line } = paths([2112, 2112, last]);
		const ys = [...line.matchAll(/ ([\d.]+)/g)].map((m) => Number(m[1]));
		assert.ok(Math.max(...ys) - Math.min(...ys) < HEIGHT / 5, line);
		assert.equal(direction([2112, 2112, last]), 0);
	}
});
