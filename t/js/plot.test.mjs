// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
process.env.TZ = "UTC";
const { timeLabels, timeSplits, TIME_STEPS } = await import("../../web/src/axis.js");
const { PlotKeys } = await import("../../web/src/plotkeys.js");
const { Generations } = await import("../../web/src/generations.js");
const { Mark } = await import("../../web/src/mark.js");
const { tsv } = await import("../../web/src/save.js");
const { EVERY } = await import("../../web/src/server_columns.js");
const { moment, ends } = await import("../../web/src/format.js");
const { Rows } = await import("../../web/src/rows.js");

const H = 3600, DAY = 86400, SUNDAY = 20000 * DAY; // midnight, 4 Oct 2024, in UTC

test("labels say the second that a split is meant to be", () => {
	const t = SUNDAY + 12 * H;
	assert.deepEqual(timeLabels([t - 0.0004, t + 59.9996, t + 120.0003], t - 300, t + 300, 60, 900), ["12:00", "12:01", "12:02"]);
	assert.deepEqual(timeLabels([t + 9.9999], t, t + 60, 10, 900), ["12:00:10"]);
});

test("a label that would be cut off isn't there", () => {
	const t = SUNDAY + 12 * H;
	assert.deepEqual(timeLabels([t, t + 300, t + 600], t, t + 600, 300, 900), ["12:00", "12:05", ""]);
	assert.deepEqual(timeLabels([t - 60, t], t, t + 600, 300, 900), ["", "12:00"], "a split before the axis");
	assert.deepEqual(timeLabels([t, t + 300, t + 600], t, t + 600, 300, 900, 15), ["12:00", "12:05", "12:10"], "there is room behind the axis");
	assert.deepEqual(timeLabels([t + 550, t + 600], t, t + 600, 10, 900, 24), ["12:09:10", "12:10:00"]);
});

test("splits are whole by the clock on the wall", () => {
	const t = SUNDAY + 12 * H, times = (min, max, step) => timeSplits(min, max, step).map((unix) => unix - SUNDAY);
	assert.deepEqual(times(t - 0.4, t + 61.7, 30), [12 * H, 12 * H + 30, 12 * H + 60]);
	assert.deepEqual(times(t + 0.4, t + 61.7, 30), [12 * H + 30, 12 * H + 60]);
	assert.deepEqual(times(SUNDAY - 1, SUNDAY + 3 * DAY, DAY), [0, DAY, 2 * DAY, 3 * DAY]);
	assert.deepEqual(times(t + 1, t + 2, 60), []);
	assert.deepEqual(timeSplits(NaN, NaN, 60), []);
	const was = process.env.TZ;
	process.env.TZ = "Europe/Berlin"; // two hours from UTC; one from 27 Oct 2024, 01:00 UTC on
	const october = SUNDAY + 23 * DAY;
	assert.deepEqual(times(october - DAY, october + DAY, DAY).map((s) => (s - 23 * DAY) / H), [-2, 23]);
	assert.deepEqual(times(october - 4 * H, october + 8 * H, 6 * H).map((s) => (s - 23 * DAY) / H), [-2, 5]);
	if (was === undefined)
		delete process.env.TZ;
	else
		process.env.TZ = was;
});

test("a long axis has dates", () => {
	const from = SUNDAY + 9 * H;
	assert.deepEqual(timeLabels([9, 15, 21, 24, 30].map((h) => SUNDAY + h * H), from, from + DAY, 6 * H, 900), ["4\u00a0Oct 09:00", "15:00", "21:00", "5\u00a0Oct", "06:00"]);
	assert.deepEqual(timeLabels([-7, -1].map((h) => SUNDAY + h * H), SUNDAY - 8 * H, SUNDAY - H, H, 900, 24), ["17:00", "23:00"], "not where it is short");
	assert.deepEqual(timeLabels([-1, 0, 1].map((h) => SUNDAY + h * H), SUNDAY - H, SUNDAY + H, H, 900, 24), ["23:00", "4\u00a0Oct", "01:00"], "but for midnight");
	const late = SUNDAY + 3 * H;
	assert.deepEqual(timeLabels([3, 24, 27].map((h) => SUNDAY + h * H), late, late + DAY, 3 * H, 900, 24), ["4\u00a0Oct 03:00", "5\u00a0Oct", "03:00"]);
	assert.deepEqual(timeLabels([late + DAY], late, late + DAY, 3 * H, 900, 24), ["03:00"], "no room for more");
	assert.deepEqual(timeLabels([0, 1, 2].map((d) => SUNDAY + d * DAY), SUNDAY, SUNDAY + 3 * DAY, DAY, 900), ["4\u00a0Oct", "5\u00a0Oct", "6\u00a0Oct"]);
	assert.ok(TIME_STEPS.every((s, i) => !i || s > TIME_STEPS[i - 1]));
	assert.equal(moment(SUNDAY + 60, SUNDAY + 90), "00:01");
	assert.equal(moment(SUNDAY - 60, SUNDAY + 90), "3\u00a0Oct 23:59");
	assert.deepEqual(ends(SUNDAY, SUNDAY + 60, SUNDAY + 90), ["00:00", "00:01"]);
	assert.deepEqual(ends(SUNDAY - 60, SUNDAY + 60, SUNDAY + 90), ["3\u00a0Oct 23:59", "4\u00a0Oct 00:01"]);
	assert.deepEqual(ends(SUNDAY, SUNDAY + 60, SUNDAY + 200000), ["4\u00a0Oct 00:00", "4\u00a0Oct 00:01"]);
});

test("a plot by keyboard", () => {
	const listeners = {}, did = [];
	const box = { addEventListener: (name, f) => { listeners[name] = f; } };
	const keys = new PlotKeys(box, { span: () => [0, 1200], cursor: (t) => did.push(["cursor", t]), select: (p) => did.push(["select", p]), apply: (a, b) => did.push(["apply", a, b]) });
	const press = (key, shiftKey = false, more = {}) => {
		let stopped = false;
		listeners.keydown({ key, shiftKey, preventDefault: () => { stopped = true; }, stopPropagation() {}, ...more });
		return stopped;
	};
	assert.equal(press("Enter"), false, "nothing is selected");
	assert.equal(press("Escape"), false, "it may mean something elsewhere");
	assert.equal(press("ArrowLeft", false, { ctrlKey: true }), false);
	assert.ok(press("ArrowLeft"));
	assert.equal(keys.at, 1190, "from the end");
	press("PageDown");
	press("ArrowLeft", true);
	press("ArrowLeft", true);
	assert.deepEqual(keys.part, [1050, 1070]);
	assert.deepEqual(did.at(-1), ["select", [1050, 1070]]);
	assert.ok(press("Enter"));
	assert.deepEqual(did.at(-1), ["apply", 1050, 1070]);
	assert.equal(keys.part, null);
	press("Home");
	press("End", true);
	assert.deepEqual(keys.part, [0, 1200], "not beyond the ends");
	assert.ok(press("Escape"));
	assert.deepEqual([keys.at, keys.part, press("Escape")], [null, null, false]);
});

test("a generation's time, about", () => {
	const g = new Generations();
	assert.equal(g.ago(3), null, "nothing is known yet");
	g.note(1000, 500);
	assert.equal(g.timeOf(250), 500, "before: as if evenly from the start");
	g.note(1010, 501);
	g.note(1010, 502);
	g.note(1040, 502);
	assert.deepEqual([g.ago(0), g.ago(1), g.ago(2), g.ago(9999)], [0, 30, 40, 1040]);
	g.note(1050, null);
	g.note(1060, 3);
	assert.equal(g.t.length, 4, "what can't be is left out");
	for (let i = 0; i < 5000; i++)
		g.note(2000 + i, 600 + i);
	assert.ok(g.t.length <= 512 && g.t[0] === 0);
	assert.ok(Math.abs(g.ago(100) - 100) < 20);
});

test("a mark is kept for the same process", () => {
	const made = () => {
		const rows = new Rows();
		rows.apply({ t: 9, all: true, more: false, gone: [], rows: [[4, 0, 1, 0, 0, 500, 1, 0, 0, 0, "/a.rb:1", 5, "ruby"], [5, 0, 1, 0, 0, 0, 0, 0, 0, 0, "/b.rb:1", 5, "ruby"]] });
		return rows;
	};
	const kept = new Map();
	const store = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
	new Mark(made(), store).set("1-1");
	const rows = made(), again = new Mark(rows, store);
	again.recall("2-2");
	assert.equal(again.t, null, "another process");
	again.recall("1-1");
	assert.equal(again.t, 9);
	assert.deepEqual([...rows.marked.base], [[4, 500]]);
	assert.equal(rows.base[rows.find("/a.rb:1")], 500);
	again.clear();
	assert.deepEqual([again.t, kept.size], [null, 0]);
	kept.set("mwrap-mark", "nonsense");
	again.recall("1-1");
	assert.equal(again.t, null);
	const forbidden = { getItem() { throw new Error("no"); }, setItem() { throw new Error("no"); }, removeItem() { throw new Error("no"); } };
	const without = new Mark(made(), forbidden);
	without.recall("1-1");
	without.set("1-1");
	assert.equal(without.t, 9);
});

test("what is saved is the server's form", () => {
	const rows = new Rows();
	rows.apply({ t: 9, all: true, more: false, gone: [], rows: [[4, 900, 3, 2, 800, 500, 1, 7, 5, 0, "/a\tb\n\\.rb:1", 9, "ruby"], [5, 0, 1, 0, 0, 0, 0, 0, 0, 0, "/b.rb:1", 5, "ruby"]] });
	rows.measure({ kind: "start" });
	const known = ["total", "allocations", "frees", "growth", "live_bytes", "live", "mean_life", "max_life", "location"];
	assert.deepEqual(EVERY.filter((name) => known.includes(name)), known);
	assert.equal(tsv(rows, []), `${EVERY.join("\t")}\n`);
	assert.equal(tsv(rows, [1, 0], known), "total\tallocations\tfrees\tgrowth\tlive_bytes\tlive\tmean_life\tmax_life\tlocation\n" +
		"0\t1\t0\t0\t0\t0\t\t0\t/b.rb:1\n900\t3\t2\t800\t500\t1\t3.500\t5\t/a\\tb\\n\\\\.rb:1\n");
});

const { History, limitNear } = await import("../../web/src/history.js");

test("the limit is drawn where it is near", () => {
	const limit = { bytes: 300, of: "memory.max" };
	assert.equal(limitNear(limit, [50, null, 100]), 300);
	assert.equal(limitNear(limit, [50, null, 99]), null);
	assert.equal(limitNear(null, [50]), null);
	assert.equal(limitNear(limit, []), null);
	const h = new History();
	h.load({ t: [1], rss: [5], live: [4], now: 1, unix: 9, first: 1 });
	assert.equal(h.limit, null);
	h.load({ t: [1], rss: [5], live: [4], now: 1, unix: 9, first: 1, limit_bytes: 300, limit_of: "memory.max" });
	assert.deepEqual(h.limit, limit);
});
