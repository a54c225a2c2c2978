// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { Rows } from "../../web/src/rows.js";
import { Series, BYTES } from "../../web/src/series.js";
import { joined, filled } from "../../web/src/curves.js";
import { View, effectiveSort } from "../../web/src/view.js";
import { parse } from "../../web/src/filter.js";
import { usual } from "../../web/src/state.js";
import { COLUMNS } from "../../web/src/columns.js";
import { sumSamples } from "../../web/src/group.js";

// id, location, growth, live bytes
const whole = (id, location, growth, bytes, more = {}) =>
	[id, more.total ?? bytes, more.allocations ?? 3, more.frees ?? 0, growth, bytes, more.live ?? 1, more.lifeSum ?? 0, more.lifeMax ?? 0, more.mark ?? 0,
		location, location.replace(/:\d+$/, "").length, more.kind ?? "ruby"];
const first = (rows, more = false) => ({ t: 100, all: true, more, rows, gone: [] });

function some() {
	const rows = new Rows();
	rows.apply(first([
		whole(1, "/g/gems/rack-3.1/lib/rack.rb:1", 10, 100),
		whole(2, "/g/gems/rack-3.1/lib/rack.rb:2", 30, 300),
		whole(3, "/srv/App/models/user.rb:7", -5, 50, { frees: 4, lifeSum: 8, lifeMax: 5 }),
		whole(4, "/srv/App/models/cache.rb:9", 20, 20, { mark: 9 }),
	]));
	return rows;
}

const START = { kind: "start" };
const curves = (t, ...list) => ({ from: t[0], to: t[t.length - 1], t, rows: list.map(([id, location, rank, ...v]) => [id, location, 0, "ruby", v, rank]) });

// /verdict.json: at: the location that the sentence names; list: [location, bytes since 0, bytes a minute]
const verdict = (at, ...list) => ({ at, growers: list.map(([location, change, rate]) => ({ location, since: 0, change, rate_bytes_per_minute: rate })) });

const shown = (rows, change, since = START) => {
	const view = new View(rows);
	view.update({ ...usual(), ...change }, since, false);
	return view.order.map((slot) => view.source.location[slot]);
};

const growersOf = (rows, change) => {
	const view = new View(rows);
	view.update({ ...usual(), ...change }, START, false);
	return view.growers;
};

test("the journal: new, changed, gone, and all anew", () => {
	const rows = some();
	assert.equal(rows.size, 4);
	rows.apply({ t: 101, all: false, more: false, rows: [[2, 400, 4, 0, 40, 400, 2, 0, 0, 0]], gone: [1] });
	assert.equal(rows.size, 3);
	const slot = rows.find("/g/gems/rack-3.1/lib/rack.rb:2");
	assert.equal(rows.liveBytes[slot], 400);
	assert.equal(rows.series[slot].n, 2);
	assert.equal(rows.find("/g/gems/rack-3.1/lib/rack.rb:1"), -1);
	rows.apply({ t: 102, all: false, more: false, rows: [whole(9, "/late.rb:1", 7, 7)], gone: [] });
	const late = rows.find("/late.rb:1");
	assert.equal(late, 0, "the free slot is used again");
	assert.equal(rows.series[late].at(0, BYTES), 0, "it grew from nothing");
	rows.apply({ t: 103, all: true, more: false, rows: [whole(2, "/g/gems/rack-3.1/lib/rack.rb:2", 0, 500)], gone: [] });
	assert.equal(rows.size, 1);
	assert.equal(rows.series[rows.find("/g/gems/rack-3.1/lib/rack.rb:2")].n, 3, "the same row's curve goes on");
	rows.apply({ t: 104, all: true, more: false, rows: [whole(2, "/other.rb:2", 0, 500)], gone: [] });
	assert.equal(rows.series[rows.find("/other.rb:2")].n, 1, "another row's doesn't");
});

test("changes of rows that were never told are left out, gone ones that aren't known, too", () => {
	const rows = some();
	rows.apply({ t: 101, all: false, more: false, rows: [[77, 1, 1, 1, 1, 1, 1, 1, 1, 1]], gone: [78] });
	assert.equal(rows.size, 4);
});

test("rates are those of the last ten seconds", () => {
	const rows = some();
	for (let t = 101; t <= 120; t++) {
		rows.apply({ t, all: false, more: false, rows: [[1, 0, 3 + (t - 100) * 14, 0, 10, 100, 1, 0, 0, 0]], gone: [] });
		rows.tick(t);
	}
	assert.equal(rows.rate[0], 14);
	rows.tick(140);
	assert.equal(rows.rate[0], 0);
});

test("words of the filter", () => {
	assert.deepEqual(parse('Foo gem:"a b" -bar '), [{ word: "foo", gem: false, not: false }, { word: "a b", gem: true, not: false }, { word: "bar", gem: false, not: true }]);
	assert.deepEqual(parse(" - "), []);
	assert.deepEqual(parse('"open'), [{ word: "open", gem: false, not: false }]);
});

test("filters by part, path, gem and not", () => {
	const rows = some();
	assert.equal(shown(rows, { q: "rack" }).length, 2);
	assert.deepEqual(shown(rows, { q: "app/MODELS us" }), ["/srv/App/models/user.rb:7"]);
	assert.equal(shown(rows, { q: "gem:rack" }).length, 2);
	assert.equal(shown(rows, { q: "gem:models" }).length, 2);
	assert.equal(shown(rows, { q: "-gem:rack" }).length, 2);
	assert.deepEqual(shown(rows, { q: "nothing" }), []);
	assert.equal(shown(rows, { q: "(.*" }).length, 0, "it is no regular expression");
});

test("sorts by every column, both ways", () => {
	const rows = some();
	for (const c of COLUMNS) {
		const down = shown(rows, { sort: c.id, desc: true }), up = shown(rows, { sort: c.id, desc: false });
		const values = (list, descending) => list.map((l) => c.get(rows, rows.find(l), descending));
		// what isn't known comes last both ways
		const sorted = (v, sign) => v.every((x, i) => !i || Object.is(v[i - 1], x) || Number.isNaN(x) || (v[i - 1] > x ? 1 : -1) === sign);
		assert.ok(sorted(values(down, true), 1), c.id);
		assert.ok(sorted(values(up, false), -1), c.id);
		assert.equal(down.length, 4);
	}
});

test("by what grows fastest; since a mark, or in a part of the time, by growth", () => {
	assert.deepEqual(effectiveSort(usual(), START), { id: "trend", descending: true });
	assert.deepEqual(effectiveSort(usual(), { kind: "mark" }), { id: "growth", descending: true });
	assert.deepEqual(effectiveSort(usual(), { kind: "range" }), { id: "growth", descending: true });
	assert.deepEqual(effectiveSort({ ...usual(), sort: "location" }, START), { id: "location", descending: false });
});

test("by trend: what grows by the sentence's answer, the one in the sentence before all; then the others by live bytes", () => {
	const rows = some();
	const [rack1, rack2, user, cache] = rows.location;
	assert.deepEqual(shown(rows, {}), [rack2, rack1, user, cache], "no curves: by live bytes");
	rows.takeCurves(curves([0, 50, 100], [3, user, 20, 10, 20, 30], [1, rack1, -50, 150, 100], [4, "/another.rb:1", 2e6, 0, 1e6, 2e6]));
	assert.deepEqual(shown(rows, {}), [rack2, rack1, user, cache], "a curve alone is no growth");
	rows.learn(verdict(null, [user, 20, 12]));
	assert.deepEqual(shown(rows, {}), [user, rack2, rack1, cache], "what shrinks is among those that rest");
	assert.deepEqual(shown(rows, { sort: "trend", desc: false }), [rack1, cache, rack2, user], "the other way round it comes first");
	assert.equal(growersOf(rows, {}), 1);
	rows.learn(verdict(cache, [user, 20, 12]));
	assert.deepEqual(shown(rows, {}), [user, rack2, rack1, cache], "a line that is named doesn't grow by that");
	assert.equal(growersOf(rows, {}), 1);
	rows.learn(verdict(cache, [user, 20, 12], [cache, 5, 1]));
	assert.deepEqual(shown(rows, {}), [cache, user, rack2, rack1]);
	assert.deepEqual(shown(rows, { sort: "trend", desc: false }), [rack1, rack2, cache, user]);
	assert.equal(growersOf(rows, {}), 2);
	rows.again();
	assert.deepEqual([rows.mentioned, rows.growing.size], [cache, 2], "of the same process");
	rows.learn(null);
	assert.equal(growersOf(rows, {}), 0);
});

test("by trend: several of each; groups by the sum of their lines", () => {
	const rows = new Rows(), at = (n) => `/srv/${"abcdef"[n]}.rb:1`;
	rows.apply(first([100, 900, 200, 300, 1e6, 400].map((bytes, i) => whole(i, at(i), 0, bytes))));
	rows.takeCurves(curves([0, 100], ...[50, -20, 7e5, -8e5, 0].map((rank, i) => [i, at(i), rank, 0, 1])));
	rows.learn(verdict(null, [at(0), 50, 30], [at(2), 7e5, 42e4]));
	const down = [2, 0, 4, 1, 5, 3], up = [3, 1, 5, 4, 0, 2];
	assert.deepEqual(shown(rows, {}), down.map(at));
	assert.deepEqual(shown(rows, { sort: "trend", desc: false }), up.map(at));
	assert.deepEqual(shown(rows, { group: "file" }), down.map((n) => at(n).slice(0, -2)));
	assert.deepEqual(shown(rows, { group: "file", sort: "trend", desc: false }), up.map((n) => at(n).slice(0, -2)));
});

test("a young process has no ranks", () => {
	const rows = some();
	const [rack1, rack2, user, cache] = rows.location;
	rows.takeCurves(curves([0, 5, 10], [3, user, null, 10, 2e6, 2e6], [1, rack1, null, 100]));
	assert.deepEqual(shown(rows, {}), [rack2, rack1, user, cache], "by live bytes");
});

test("growth is since the start, since the tab's mark, or over a part of the time", () => {
	const rows = some();
	rows.measure(START);
	assert.deepEqual([...rows.grown.slice(0, 4)], [10, 30, -5, 20]);
	rows.setMark(rows.moment());
	rows.apply({ t: 101, all: false, more: false, rows: [[2, 400, 4, 0, 40, 450, 2, 0, 0, 0], whole(9, "/late.rb:1", 7, 7)], gone: [] });
	rows.measure({ kind: "mark" });
	assert.deepEqual([...rows.grown.slice(0, 5)], [0, 150, 0, 0, 7], "what is new grew from nothing");
	rows.apply({ t: 102, all: true, more: false, rows: [whole(2, "/g/gems/rack-3.1/lib/rack.rb:2", 0, 500)], gone: [] });
	rows.measure({ kind: "mark" });
	assert.equal(rows.grown[0], 200, "the mark stays when all rows come anew");
	rows.setMark(null);
	rows.measure(START);
	assert.equal(rows.grown[0], 0);

	const part = some();
	part.takeCurves(curves([0, 50, 90], [1, part.location[0], 0, null, 40, 100], [2, part.location[1], 0, 300]));
	part.apply({ t: 110, all: false, more: false, rows: [[3, 0, 0, 0, 0, 80, 1, 0, 0, 0]], gone: [] });
	part.measure({ kind: "range", from: 0, to: 90 });
	assert.deepEqual([...part.grown.slice(0, 4)], [60, 0, NaN, NaN], "what nobody knows isn't nothing");
	part.measure({ kind: "range", from: 100, to: 300 });
	assert.deepEqual([...part.grown.slice(0, 4)], [0, 0, 30, 0], "what the tab itself saw");
	assert.deepEqual(shown(part, { sort: "growth", desc: true }, { kind: "range", from: 0, to: 90 }).slice(0, 2), [part.location[0], part.location[1]]);
});

test("rows that come late in a stream that began with none weren't born then", () => {
	const rows = new Rows();
	rows.apply(first([]));
	rows.apply({ t: 101, all: false, more: false, rows: [whole(1, "/a.rb:1", 5e6, 5e6, { allocations: 70000 })], gone: [] });
	rows.tick(101);
	assert.deepEqual([rows.series[0].n, rows.series[0].at(0, BYTES), rows.rate[0]], [1, 5e6, 0]);
	rows.apply({ t: 102, all: false, more: false, rows: [whole(2, "/b.rb:1", 5e6, 5e6, { allocations: 70000 }), [1, 0, 70020, 0, 5e6, 5e6, 1, 0, 0, 0]], gone: [] });
	rows.tick(102);
	assert.deepEqual([rows.series[1].n, rows.rate[1], rows.rate[0]], [1, 0, 20]);
});

test("rows that were known before keep their curves through a stream that began with none", () => {
	const rows = some();
	rows.apply({ t: 105, all: true, more: false, rows: [], gone: [] });
	rows.apply({ t: 106, all: false, more: false, rows: [whole(2, "/g/gems/rack-3.1/lib/rack.rb:2", 30, 320, { allocations: 99 })], gone: [] });
	rows.tick(106);
	assert.deepEqual([rows.series[0].n, rows.series[0].at(0, BYTES), rows.rate[0]], [2, 300, 0]);
});

test("a row that the server's curves know wasn't born now", () => {
	const rows = some();
	rows.takeCurves(curves([0, 100], [9, "/late.rb:1", 0, 7, 7]));
	rows.apply({ t: 102, all: false, more: false, rows: [whole(9, "/late.rb:1", 7, 7, { allocations: 500 }), whole(10, "/born.rb:1", 7, 7, { allocations: 30 })], gone: [] });
	rows.tick(102);
	assert.deepEqual([rows.series[4].n, rows.rate[4]], [1, 0]);
	assert.deepEqual([rows.series[5].n, rows.rate[5]], [2, 30], "one that it doesn't was");
});

test("curves: the server's up to where they end, then what came since", () => {
	const rows = some();
	rows.takeCurves(curves([0, 50, 90], [1, rows.location[0], 0, null, 40, 60]));
	rows.apply({ t: 120, all: false, more: false, rows: [[1, 0, 0, 0, 0, 200, 1, 0, 0, 0]], gone: [] });
	assert.deepEqual([...rows.sample(0, 0, 120, 7)], [NaN, NaN, NaN, 40, 40, 100, 200]);
	assert.deepEqual([...rows.sample(1, 60, 120, 3)], [NaN, NaN, 300]);
	assert.deepEqual([...sumSamples(rows, [0, 1], 60, 120, 3)], [340, 360, 500], "what is told late makes no step");
});

test("a value holds for all times after it", () => {
	assert.deepEqual([filled([5], [1, 2, 3]), filled([null, 5], [1, 2, 3]), filled([1, 2], [1, 2])], [[5, 5, 5], [null, 5, 5], [1, 2]]);
	const rows = some();
	rows.takeCurves(curves([0, 50, 90], [1, rows.location[0], 0, null, 40], [2, rows.location[1], 0, null]));
	assert.deepEqual([rows.curve(0).change, rows.curve(1).change], [0, NaN]);
});

test("one location's plot goes on where the server's points end", () => {
	const s = new Series();
	s.push(100, 10, 1, 0, 0);
	s.push(130, 20, 2, 0, 0);
	assert.deepEqual(joined({ t: [0, 50, 100], v: [1, 5, 10] }, s, 20, 140), { t: [50, 100, 130, 140], values: [5, 10, 20, 20] });
	assert.deepEqual(joined({ t: [], v: [] }, s, 20, 140).t, [100, 130, 140]);
	assert.deepEqual(joined({ t: [0, 50], v: [3] }, null, 0, 140), { t: [0, 50], values: [3, 3] });
});

test("groups add up what matches; the longest life isn't a sum", () => {
	const rows = some();
	assert.deepEqual(shown(rows, { group: "gem" }), ["rack-3.1", "/srv/App/models"]);
	assert.deepEqual(shown(rows, { group: "file" }).length, 3);
	const view = new View(rows);
	view.update({ ...usual(), group: "dir", q: "models" }, START, false);
	assert.equal(view.order.length, 1);
	const g = view.order[0];
	assert.equal(view.source.liveBytes[g], 70);
	assert.equal(view.source.growth[g], 15);
	assert.equal(view.source.lifeMax[g], 5);
	assert.deepEqual(view.sums, { growth: 15, liveBytes: 70, live: 2 });
	assert.deepEqual([...sumSamples(rows, view.source.members[g], 100, 110, 2)], [70, 70]);
});

test("the order is kept while it is held, and new rows come all the same", () => {
	const rows = some(), view = new View(rows);
	view.update({ ...usual(), sort: "growth" }, START, false);
	const before = [...view.order];
	rows.apply({ t: 101, all: false, more: false, rows: [[1, 0, 3, 0, 1000, 1000, 1, 0, 0, 0]], gone: [] });
	view.update({ ...usual(), sort: "growth" }, START, true);
	assert.deepEqual(view.order, before);
	view.update({ ...usual(), sort: "growth" }, START, false);
	assert.equal(view.order[0], 0);
	rows.apply({ t: 102, all: false, more: false, rows: [whole(50, "/n.rb:1", 5000, 1)], gone: [] });
	view.update({ ...usual(), sort: "growth" }, START, true);
	assert.equal(view.order.length, 5);
});

test("a series is bounded, on an even grid, and keeps its first and its last point", () => {
	const s = new Series(16);
	for (let t = 0; t < 1000; t++)
		s.push(t, t * 2, 0, t, 0);
	assert.ok(s.n <= 16 && s.n >= 8, String(s.n));
	assert.equal(s.at(0, 0), 0);
	assert.equal(s.at(s.n - 1, BYTES), 1998);
	for (let i = 2; i < s.n - 1; i++)
		assert.equal(s.at(i, 0) - s.at(i - 1, 0), s.step, "old points are as far apart as new ones");
	assert.equal(s.step, 128);
	s.push(999, 5, 0, 0, 0);
	assert.equal(s.at(s.n - 1, BYTES), 5, "the same time: the last word counts");
	const rare = new Series(16);
	for (let t = 0; t < 100; t++)
		rare.push(t * 60.5, t, 0, t, 0);
	assert.ok(rare.n <= 16 && rare.n >= 8, String(rare.n));
});

test("what held at a time, and columns of a plot", () => {
	const s = new Series();
	s.push(10, 1, 0, 0, 0);
	s.push(20, 5, 0, 30, 0);
	assert.equal(s.find(9), -1);
	assert.equal(s.find(10), 0);
	assert.equal(s.find(25), 1);
	assert.deepEqual(s.column(BYTES, 15, 30), { t: [15, 20, 30], values: [1, 5, 5] });
	assert.deepEqual([s.value(BYTES, 9), s.value(BYTES, 12), s.value(BYTES, 99)], [NaN, 1, 5]);
});
