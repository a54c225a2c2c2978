// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { Rows } from "../../web/src/rows.js";
import { Series, BYTES } from "../../web/src/series.js";
import { View, effectiveSort } from "../../web/src/view.js";
import { parse } from "../../web/src/filter.js";
import { usual } from "../../web/src/state.js";
import { COLUMNS } from "../../web/src/columns.js";
import { sumSeries } from "../../web/src/group.js";

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

const shown = (rows, change, marked = false) => {
	const view = new View(rows);
	view.update({ ...usual(), ...change }, marked, false);
	return view.order.map((slot) => view.source.location[slot]);
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
		const down = shown(rows, { sort: c.id, desc: true }, true), up = shown(rows, { sort: c.id, desc: false }, true);
		const values = (list) => list.map((l) => c.get(rows, rows.find(l)));
		const sorted = (v, sign) => v.every((x, i) => !i || (v[i - 1] === x || (v[i - 1] > x ? 1 : -1) === sign));
		assert.ok(sorted(values(down), 1), c.id);
		assert.ok(sorted(values(up), -1), c.id);
		assert.equal(down.length, 4);
	}
});

test("by growth since the mark if there is one, else by growth", () => {
	assert.deepEqual(effectiveSort(usual(), false), { id: "growth", descending: true });
	assert.deepEqual(effectiveSort(usual(), true), { id: "mark", descending: true });
	assert.deepEqual(effectiveSort({ ...usual(), sort: "mark" }, false).id, "growth");
	assert.deepEqual(effectiveSort({ ...usual(), sort: "location" }, false), { id: "location", descending: false });
	assert.equal(shown(some(), {})[0], "/g/gems/rack-3.1/lib/rack.rb:2");
	assert.equal(shown(some(), {}, true)[0], "/srv/App/models/cache.rb:9");
});

test("groups add up what matches; the longest life isn't a sum", () => {
	const rows = some();
	assert.deepEqual(shown(rows, { group: "gem" }), ["rack-3.1", "/srv/App/models"]);
	assert.deepEqual(shown(rows, { group: "file" }).length, 3);
	const view = new View(rows);
	view.update({ ...usual(), group: "dir", q: "models" }, false, false);
	assert.equal(view.order.length, 1);
	const g = view.order[0];
	assert.equal(view.source.liveBytes[g], 70);
	assert.equal(view.source.growth[g], 15);
	assert.equal(view.source.lifeMax[g], 5);
	assert.deepEqual(view.sums, { growth: 15, liveBytes: 70, live: 2 });
	assert.deepEqual([...sumSeries(rows, view.source.members[g], 100, 110, 2)], [70, 70]);
});

test("the order is kept while it is held, and new rows come all the same", () => {
	const rows = some(), view = new View(rows);
	view.update(usual(), false, false);
	const before = [...view.order];
	rows.apply({ t: 101, all: false, more: false, rows: [[1, 0, 3, 0, 1000, 1000, 1, 0, 0, 0]], gone: [] });
	view.update(usual(), false, true);
	assert.deepEqual(view.order, before);
	view.update(usual(), false, false);
	assert.equal(view.order[0], 0);
	rows.apply({ t: 102, all: false, more: false, rows: [whole(50, "/n.rb:1", 5000, 1)], gone: [] });
	view.update(usual(), false, true);
	assert.equal(view.order.length, 5);
});

test("a series is bounded, and keeps its first and its last point", () => {
	const s = new Series(16);
	for (let t = 0; t < 1000; t++)
		s.push(t, t * 2, 0, t, 0);
	assert.ok(s.n <= 16 && s.n >= 8, String(s.n));
	assert.equal(s.at(0, 0), 0);
	assert.equal(s.at(s.n - 1, BYTES), 1998);
	for (let i = 1; i < s.n; i++)
		assert.ok(s.at(i, 0) > s.at(i - 1, 0));
	s.push(999, 5, 0, 0, 0);
	assert.equal(s.at(s.n - 1, BYTES), 5, "the same time: the last word counts");
});

test("what held at a time, and columns of a plot", () => {
	const s = new Series();
	s.push(10, 1, 0, 0, 0);
	s.push(20, 5, 0, 30, 0);
	assert.equal(s.find(9), -1);
	assert.equal(s.find(10), 0);
	assert.equal(s.find(25), 1);
	assert.deepEqual(s.column(BYTES, 15, 30), { t: [15, 20, 30], values: [1, 5, 5] });
	assert.equal(s.rate(3, 20, 10), 3);
});
