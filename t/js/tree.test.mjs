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
	const root = tree(rows, all(rows), "gem", []);
	assert.equal(root.bytes, 650);
	assert.deepEqual(root.children.map((c) => [c.name, c.bytes]), [["rack-3.1", 450], ["/srv/app", 200]]);
	assert.deepEqual(root.children[0].children.map((c) => c.name), ["/g/gems/rack-3.1/lib/rack.rb", "/g/gems/rack-3.1/lib/b.rb"]);
	const gem = tree(rows, all(rows), "gem", ["rack-3.1"]);
	assert.deepEqual(gem.children[0].children.map((c) => [c.name, c.bytes]), [["/g/gems/rack-3.1/lib/rack.rb:2", 300], ["/g/gems/rack-3.1/lib/rack.rb:1", 100]]);
	const file = tree(rows, all(rows), "gem", ["rack-3.1", "/g/gems/rack-3.1/lib/rack.rb"]);
	assert.deepEqual(file.children.map((c) => c.level), ["line", "line"]);
	assert.equal(tree(rows, all(rows), "gem", ["gone"]).children.length, 0);
});

test("the outer areas are those of the group", () => {
	const rows = make(SOME), names = (group, zoom = []) => tree(rows, all(rows), group, zoom).children.map((c) => [c.name, c.bytes]);
	assert.deepEqual(names("line").slice(0, 2), [["/g/gems/rack-3.1/lib/rack.rb:2", 300], ["/srv/app/a.rb:1", 200]]);
	assert.deepEqual(names("file")[0], ["/g/gems/rack-3.1/lib/rack.rb", 400]);
	assert.deepEqual(names("dir"), [["/g/gems/rack-3.1/lib", 450], ["/srv/app", 200]]);
	assert.deepEqual(tree(rows, all(rows), "dir", ["/srv/app"]).children[0].path, ["/srv/app", "/srv/app/a.rb"]);
	assert.deepEqual(names("line", ["left over"]), names("line"), "there is nothing to look into");
});

test("a row is divided among its kinds", () => {
	const rows = make(SOME);
	rows.kinds.load({ kinds: ["string", "array"], rows: [[2, 10, 0, 225, 225, 1, 75, 75], [4, 10, 1, 200, 200]] });
	const root = tree(rows, all(rows), "kind", []);
	assert.deepEqual(root.children.map((c) => [c.name, c.bytes]), [["array", 275], ["string", 225], ["(no stack)", 150]]);
	assert.deepEqual(tree(rows, all(rows), "kind", ["array"]).children.map((c) => [c.name, c.bytes]), [["/srv/app/a.rb:1", 200], ["/g/gems/rack-3.1/lib/rack.rb:2", 75]]);
});

test("many small ones are one area, and nothing is lost", () => {
	const rows = make(Array.from({ length: 500 }, (_, i) => [`/d${i}/x.rb:1`, 1000 + i]));
	const root = tree(rows, all(rows), "gem", []);
	assert.equal(root.children.length, 61);
	assert.equal(root.children[60].name, "440 others");
	assert.equal(root.children.reduce((n, c) => n + c.bytes, 0), root.bytes);
});

test("areas lie inside, and are as large as what they stand for", () => {
	const rows = make(SOME.slice(0, 4));
	const boxes = layout(tree(rows, all(rows), "gem", []), 800, 400);
	const top = boxes.filter((b) => b.depth === 1);
	assert.equal(top.length, 2);
	for (const b of boxes)
		assert.ok(b.x0 >= 0 && b.y0 >= 0 && b.x1 <= 800 && b.y1 <= 400 && b.x1 >= b.x0 && b.y1 >= b.y0);
	const area = (b) => (b.x1 - b.x0) * (b.y1 - b.y0);
	assert.ok(Math.abs(area(top[0]) / area(top[1]) - 450 / 200) < 0.2);
});

