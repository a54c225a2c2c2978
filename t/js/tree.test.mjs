// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";

// d3-hierarchy is there once `npm ci` ran in web/, which t/js.t sees to
const { tree, layout } = await import("../../web/src/tree.js");
import { Rows } from "../../web/src/rows.js";

function make(list) {
	const rows = new Rows();
	rows.apply({ t: 1, all: true, more: false, gone: [],
		rows: list.map(([location, bytes], i) => [i + 1, bytes, 1, 0, bytes / 2, bytes, 1, 0, 0, 0, location, location.replace(/:\d+$/, "").length, "ruby"]) });
	return rows;
}
const SOME = [["/g/gems/rack-3.1/lib/rack.rb:1", 100], ["/g/gems/rack-3.1/lib/rack.rb:2", 300], ["/g/gems/rack-3.1/lib/b.rb:2", 50], ["/srv/app/a.rb:1", 200], ["/srv/app/b.rb:1", 0]];
const all = (rows) => Array.from({ length: rows.slots }, (_, i) => i);

test("gems, their files, and lines when looked into; what has nothing live isn't there", () => {
	const rows = make(SOME);
	const root = tree(rows, all(rows), []);
	assert.equal(root.bytes, 650);
	assert.deepEqual(root.children.map((c) => [c.name, c.bytes]), [["rack-3.1", 450], ["/srv/app", 200]]);
	assert.deepEqual(root.children[0].children.map((c) => c.name), ["/g/gems/rack-3.1/lib/rack.rb", "/g/gems/rack-3.1/lib/b.rb"]);
	const gem = tree(rows, all(rows), ["rack-3.1"]);
	assert.deepEqual(gem.children[0].children.map((c) => [c.name, c.bytes]), [["/g/gems/rack-3.1/lib/rack.rb:2", 300], ["/g/gems/rack-3.1/lib/rack.rb:1", 100]]);
	const file = tree(rows, all(rows), ["rack-3.1", "/g/gems/rack-3.1/lib/rack.rb"]);
	assert.deepEqual(file.children.map((c) => c.level), ["line", "line"]);
	assert.equal(tree(rows, all(rows), ["gone"]).children.length, 0);
});

test("many small ones are one area, and nothing is lost", () => {
	const rows = make(Array.from({ length: 500 }, (_, i) => [`/d${i}/x.rb:1`, 1000 + i]));
	const root = tree(rows, all(rows), []);
	assert.equal(root.children.length, 61);
	assert.equal(root.children[60].name, "440 others");
	assert.equal(root.children.reduce((n, c) => n + c.bytes, 0), root.bytes);
});

test("areas lie inside, and are as large as what they stand for", () => {
	const rows = make(SOME.slice(0, 4));
	const boxes = layout(tree(rows, all(rows), []), 800, 400);
	const top = boxes.filter((b) => b.depth === 1);
	assert.equal(top.length, 2);
	for (const b of boxes)
		assert.ok(b.x0 >= 0 && b.y0 >= 0 && b.x1 <= 800 && b.y1 <= 400 && b.x1 >= b.x0 && b.y1 >= b.y0);
	const area = (b) => (b.x1 - b.x0) * (b.y1 - b.y0);
	assert.ok(Math.abs(area(top[0]) / area(top[1]) - 450 / 200) < 0.2);
});

