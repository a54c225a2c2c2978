// SPDX-License-Identifier: GPL-2.0-or-later
// Several processes at once: what is said of them, their curves and sums, two tables compared.
import test from "node:test";
import assert from "node:assert/strict";
import { answers, compareRows, curvePaths, familySentence, fileEnd, keyOf, perMinute, pieces, plain, points, reach, sorted, sumCurve, totals, withLast } from "../../web/src/fleet.js";
import { chosenIn } from "../../web/src/family.js";
import { stateOf, tableQuery } from "../../web/src/all_columns.js";
import { pause } from "../../web/src/poll.js";

const MB = 1048576;
const one = (pid, more = {}) => ({ pid, title: `worker ${pid}`, state: "answers", age: 5, rss_bytes: 100 * MB, live_bytes: 50 * MB,
	slope_bytes_per_minute: 0, outlier: "", forked_from: 1, curve: { t: [], rss: [], live: [] }, ...more });

test("a family in a sentence", () => {
	assert.equal(familySentence([one(1), one(2)]), "2 processes: RSS 200\u00a0MB, live 100\u00a0MB.");
	assert.equal(familySentence([one(1)]), "1 process: RSS 100\u00a0MB, live 50.0\u00a0MB.");
	assert.match(familySentence([one(1), one(2, { state: "does not answer" })]), /^1 of 2 processes: RSS 100/);
	assert.equal(familySentence([one(2), one(3), one(4, { rss_bytes: 300 * MB, outlier: "RSS" }), one(9, { forked_from: null, rss_bytes: MB })]),
		"One process stands out: pid 4: RSS 300\u00a0MB, the others\u2019 median is 100\u00a0MB.", "its siblings only");
	assert.match(familySentence([one(2), one(3), one(4, { slope_bytes_per_minute: 2 * MB, outlier: "slope" })]), /pid 4: it grows by 2\.00\u00a0MB a minute, the others\u2019 median is 0\u00a0B\.$/);
	assert.match(familySentence([one(2, { outlier: "RSS" }), one(3), one(4, { rss_bytes: 300 * MB, outlier: "RSS and slope" })]), /^2 processes stand out, most of all pid 4: RSS/);
});

test("the last values of one that doesn't answer, until it ends", () => {
	const last = new Map(), silent = { pid: 2, title: "worker 2", state: "does not answer", rss_bytes: null, live_bytes: null };
	const first = [one(1), one(2, { outlier: "RSS" })];
	assert.deepEqual(withLast(first, last, 10), first);
	const [a, b] = withLast([one(1), silent], last, 20);
	assert.equal(a.seen, undefined);
	assert.deepEqual([b.state, b.seen, b.live_bytes, b.rss_bytes, b.outlier], ["does not answer", 10, 50 * MB, 100 * MB, ""]);
	assert.equal(withLast([one(1), { ...silent, rss_bytes: 7 }], last, 30)[1].rss_bytes, 7, "the system knows it now");
	withLast([one(1)], last, 40);
	assert.equal(withLast([one(1), silent], last, 50)[1].live_bytes, null, "another process may have that number");
	assert.deepEqual([one(5), { ...silent, pid: null }].map(keyOf), [5, "unknown 1"]);
});

test("a sentence in pieces, with the processes that it names", () => {
	assert.deepEqual(pieces("2 of 3 processes grow. Process 12: app.rb:4 grows. Process 13-99 grows by 1 MB"),
		["2 of 3 processes grow. ", { pid: "12", text: "Process 12" }, ": app.rb:4 grows. ", { pid: "13-99", text: "Process 13-99" }, " grows by 1 MB"]);
	assert.deepEqual(pieces("Nothing grows in 3 processes."), ["Nothing grows in 3 processes."]);
	assert.deepEqual(pieces("Process 12: Live memory grows, 98 % of that in app.rb, on 6 lines, most at app.rb:12."),
		[{ pid: "12", text: "Process 12" }, ": Live memory grows, 98 % of that in ", { group: "file", q: "app.rb", text: "app.rb" }, ", on 6 lines, most at app.rb:12."]);
	assert.deepEqual(pieces("all of that in the gem rack-3.1, on 2 lines.").slice(1, 2), [{ group: "gem", q: "rack-3.1", text: "rack-3.1" }]);
});

test("what isn't known adds nothing", () => {
	assert.deepEqual(totals([one(1, { rss_bytes: null, slope_bytes_per_minute: null })]), { n: 1, rss: 0, live: 50 * MB, slope: null });
	assert.equal(totals([one(1, { slope_bytes_per_minute: null }), one(2, { slope_bytes_per_minute: 7 })]).slope, 7);
	assert.equal(answers(one(1, { state: "may not be asked" })), false);
	assert.deepEqual([perMinute(null), perMinute(0), perMinute(MB), perMinute(-MB)], ["\u2013", "0\u00a0B/min", "+1.00\u00a0MB/min", "\u22121.00\u00a0MB/min"]);
});

test("an order, and what isn't known at its end", () => {
	const list = [one(3, { rss_bytes: null }), one(1, { rss_bytes: 5 }), one(2, { rss_bytes: 9 }), one(4, { rss_bytes: 9 })];
	assert.deepEqual(sorted(list, "rss_bytes", true).map((p) => p.pid), [2, 4, 1, 3]);
	assert.deepEqual(sorted(list, "rss_bytes", false).map((p) => p.pid), [1, 2, 4, 3]);
	assert.deepEqual(sorted(list, "title", false).map((p) => p.pid), [1, 2, 3, 4]);
	assert.equal(list[0].pid, 3, "the list itself stays");
});

test("curves have one time axis, whose right end is now", () => {
	const old = one(1, { curve: { t: [100, 500, 1000], rss: [1, 2, 3], live: [10, null, 30] } });
	const young = one(2, { curve: { t: [7], rss: [5], live: [5] } });
	assert.deepEqual(points(old.curve, "live"), [[900, 10], [0, 30]]);
	assert.deepEqual(points(undefined, "live"), []);
	assert.equal(reach([old, young]), 900);
	assert.equal(reach([young]), 60);
	assert.equal(curvePaths(points(young.curve, "live"), 60, 100, 20), null);
	const { line, area } = curvePaths(points(old.curve, "rss"), 900, 90, 20);
	assert.equal(line, "M0.0 19.0L40.0 10.0L90.0 1.0");
	assert.equal(area, `${line}L90.0 20L0.0 20Z`);
	assert.match(curvePaths([[10, 100], [0, 101]], 10, 10, 20).line, /^M0\.0 11\.\dL10\.0 8\.\d$/, "a little more is nearly level");
	assert.equal(curvePaths([[10, 0], [0, 50]], 10, 10, 20, 0, 100).line, "M0.0 19.0L10.0 10.0");
});

test("the sum of curves: one that wasn't there counts nothing, a gap keeps its value", () => {
	const a = one(1, { curve: { t: [0, 20, 60], rss: [0, 0, 0], live: [1, 2, 3] } });
	const b = one(2, { curve: { t: [900, 920], rss: [0, 0], live: [10, 20] } });
	assert.deepEqual(sumCurve([a, b], "live"), [[60, 1], [40, 2], [20, 12], [0, 23]]);
	assert.deepEqual(sumCurve([], "live"), [[0, 0]]);
});

test("two tables: by location without addresses, the largest difference first", () => {
	const row = (location, live_bytes) => ({ location, live_bytes });
	const a = [row("/a.rb:1", 10), row("/b.rb:2", 500), row("/x.so(f+0x1) [0x7f01]", 30), row("/same.rb:1", 4)];
	const b = [row("/b.rb:2", 100), row("/x.so(f+0x1) [0x7f99]", 31), row("/same.rb:1", 4), row("/c.rb:3", 50)];
	const c = compareRows(a, b);
	assert.deepEqual([c.a, c.b, c.differ], [544, 185, 4]);
	assert.deepEqual(c.rows.map((r) => [r.location, r.a, r.b, r.difference]),
		[["/b.rb:2", 500, 100, 400], ["/c.rb:3", 0, 50, -50], ["/a.rb:1", 10, 0, 10], ["/x.so(f+0x1)", 30, 31, -1]]);
	assert.equal(c.rows[3].name, "/x.so(f+0x1) [0x7f01]", "a page is asked for by the whole name");
	assert.equal(compareRows(a, b, 2).rows.length, 2);
	assert.equal(plain("/a.rb:1 [0x7f]x"), "/a.rb:1 [0x7f]x");
});

test("where a file ends", () => {
	assert.deepEqual(["/a.rb:12", "/x.so(f+0x1)", "(other)", "/a(b).rb:3"].map((s) => s.slice(0, fileEnd(s))), ["/a.rb", "/x.so", "(other)", "/a(b).rb"]);
});

test("addresses of the pages", () => {
	assert.deepEqual(chosenIn("#compare=12,34"), [12, 34]);
	assert.deepEqual(chosenIn("#compare=12,12,x,-3,5,6"), [12, 5]);
	assert.deepEqual(chosenIn(""), []);
	assert.deepEqual(stateOf("#sort=live&order=asc&q=a+b&group=gem"), { sort: "live", order: "asc", q: "a b", group: "gem" });
	assert.deepEqual(stateOf("#sort=evil&order=x&group=y"), { sort: "growth", order: null, q: "", group: "line" });
	assert.equal(tableQuery(stateOf(""), 200), "sort=growth&limit=200");
	assert.equal(tableQuery(stateOf("#q=a%26b&group=file&sort=live&order=asc"), null), "sort=live&order=asc&q=a%26b&group=file");
});

test("what takes long is asked for less often", () => {
	assert.equal(pause(2000, 10), 2000);
	assert.equal(pause(2000, 500), 10000);
});
