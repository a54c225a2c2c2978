// SPDX-License-Identifier: GPL-2.0-or-later
// Kinds of the rows' memory: shares, the column, the filter, and the group.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Kinds } from "../../web/src/kinds.js";
import { Rows } from "../../web/src/rows.js";
import { View } from "../../web/src/view.js";
import { COLUMNS, shown, defaultColumns } from "../../web/src/columns.js";
import { exportQuery } from "../../web/src/toolbar.js";
import { parse, narrows } from "../../web/src/filter.js";
import { usual } from "../../web/src/state.js";

const START = { kind: "start" };
const ROWS = [ // id, total, allocations, frees, growth, live bytes, live, life sum, life max, mark, location, ...
	[1, 2000, 20, 10, 900, 1000, 10, 30, 9, 0, "/srv/app/a.rb:1", 13, "ruby"],
	[2, 400, 4, 4, 0, 0, 0, 8, 3, 0, "/srv/app/a.rb:2", 13, "ruby"],
	[3, 70, 7, 0, 70, 70, 7, 0, 0, 0, "/srv/app/b.rb:3", 13, "ruby"],
];
const SAID = { kinds: ["(no stack)", "other", "string", "array"],
	rows: [[1, 12, 2, 600, 1000, 3, 200, 1000], [2, 5, 3, 0, 400]] };

function some(said = SAID) {
	const rows = new Rows();
	rows.apply({ t: 1, all: true, more: false, gone: [], rows: ROWS });
	rows.kinds.load(said);
	return rows;
}

const names = (view) => view.order.map((slot) => view.source.location[slot]);
const column = COLUMNS.find((c) => c.id === "kind");
const text = (source, slot) => column.parts(column.get(source, slot), "gc", source).join(" ");

test("shares of a row, the largest first", () => {
	const kinds = new Kinds();
	kinds.load(SAID);
	assert.deepEqual(kinds.parts(1), [["string", 0.75, 0.5], ["array", 0.25, 0.5]]);
	assert.deepEqual(kinds.parts(2), [["array", 1, 1]], "nothing lives: by what was allocated");
	assert.deepEqual(kinds.parts(3), [["(no stack)", 1, 1]]);
	assert.deepEqual([1, 2, 3].map((id) => kinds.samples(id)), [12, 5, 0]);
	kinds.clear();
	assert.equal(kinds.text(1), "(no stack)");
});

test("the column", () => {
	const rows = some();
	assert.deepEqual([0, 1, 2].map((slot) => text(rows, slot)), ["string 75\u00a0%", "array 100\u00a0%", "\u2013 "]);
	assert.equal(column.exact(column.get(rows, 0), rows, 0), "string 75\u00a0%, from 12 samples");
	assert.equal(column.exact(column.get(rows, 2), rows, 2), "no stack");
	const view = new View(rows);
	view.update({ ...usual(), sort: "kind" }, START, false);
	assert.deepEqual(names(view), ["/srv/app/a.rb:2", "/srv/app/a.rb:1", "/srv/app/b.rb:3"], "what isn't known is last");
	view.update({ ...usual(), sort: "kind", desc: false }, START, false);
	assert.deepEqual(names(view), ["/srv/app/a.rb:1", "/srv/app/a.rb:2", "/srv/app/b.rb:3"]);
});

test("only where stacks are kept", () => {
	assert.ok(!shown(null, false).includes(column) && shown(null, true).includes(column));
	assert.ok(!shown(["kind"], false).includes(column));
	assert.deepEqual(defaultColumns(true).filter((id) => id !== "kind"), defaultColumns());
});

test("groups of kinds add up to the rows, each with its share", () => {
	const rows = some(), view = new View(rows);
	view.update({ ...usual(), group: "kind", sort: "live_bytes" }, START, false);
	assert.deepEqual(names(view), ["string", "array", "(no stack)"]);
	const [string, array, none] = view.order, s = view.source;
	assert.deepEqual([string, array, none].map((g) => s.liveBytes[g]), [750, 250, 70]);
	assert.deepEqual([string, array, none].map((g) => s.total[g]), [1000, 1400, 70]);
	assert.deepEqual([string, array, none].map((g) => s.growth[g]), [675, 225, 70]);
	assert.deepEqual(view.sums, { growth: 970, liveBytes: 1070, live: 17 });
	assert.deepEqual([string, array, none].map((g) => text(s, g)), ["string 100\u00a0%", "array 100\u00a0%", "\u2013 "]);
	assert.equal(s.kindSamples(array), 17);
	rows.tick(5);
	assert.deepEqual([...s.sample(string, 1, 2)].slice(-1), [750]);
	view.update({ ...usual(), group: "file" }, START, false);
	const file = view.order.find((g) => view.source.location[g] === "/srv/app/a.rb");
	assert.equal(text(view.source, file), "string 75\u00a0%");
});

test("the filter by the largest kind", () => {
	const rows = some(), view = new View(rows);
	const of = (q) => {
		view.update({ ...usual(), q, sort: "location" }, START, false);
		return names(view);
	};
	assert.deepEqual(of("kind:string"), ["/srv/app/a.rb:1"]);
	assert.deepEqual(of('kind:"(no stack)"'), ["/srv/app/b.rb:3"]);
	assert.deepEqual(of("-kind:string a.rb"), ["/srv/app/a.rb:2"]);
	assert.deepEqual(of("kind:STR"), ["/srv/app/a.rb:1"]);
	rows.kinds.load({ kinds: ["string"], rows: [[3, 1, 0, 70, 70]] });
	assert.deepEqual(of("kind:STR"), ["/srv/app/b.rb:3"], "other kinds were told");
	assert.ok(!narrows(parse("kind:a"), parse("a")) && narrows(parse("kind:ab"), parse("kind:a")));
});

test("rows of a kind to take away", () => {
	assert.equal(exportQuery({ ...usual(), q: 'kind:"instruction sequence"' }), "sort=growth&kind=instruction+sequence");
	assert.equal(exportQuery({ ...usual(), q: "kind:string", group: "file" }), "sort=growth&group=file&kind=string");
	assert.equal(exportQuery({ ...usual(), q: "kind:string a" }), "sort=growth");
	assert.equal(exportQuery({ ...usual(), group: "kind" }), "sort=growth&group=kind");
});
