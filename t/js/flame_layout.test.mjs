// SPDX-License-Identifier: GPL-2.0-or-later
// Where the flame graph's nodes are, which of them are drawn, which one is pointed at, and where the arrows lead.
import test from "node:test";
import assert from "node:assert/strict";
import { stacks, flame, random } from "./flame_data.mjs";
import { readTree } from "../../web/src/flame_tree.js";
import { layOut, visibleIn, hit, move, within, LEAST } from "../../web/src/flame_layout.js";
import { Painter, ROW } from "../../web/src/flame_draw.js";
import { NAMES, withShades } from "../../web/src/flame_colours.js";

const LIST = stacks(3000);
const VIEWS = [{}, { by: "growth" }, { inverted: true }];
const make = (view, list = LIST) => {
	const tree = readTree(flame(list, view));
	return { tree, layout: layOut(tree) };
};

test("children lie below their parents, side by side, as wide as their bytes", () => {
	for (const view of VIEWS) {
		const { tree, layout: { x0, x1 } } = make(view);
		assert.deepEqual([x0[0], x1[0]], [0, 1]);
		const all = tree.width[0];
		for (let i = 1; i < tree.n; i++) {
			const p = tree.parent[i];
			assert.ok(x0[i] >= x0[p] && x1[i] <= x1[p] && x1[i] >= x0[i]);
			assert.ok(Math.abs(x1[i] - x0[i] - tree.width[i] / all) < 1e-9);
			if (i !== p + 1)
				assert.ok(x0[i] >= x0[p]);
			if (tree.end[i] < tree.end[p])
				assert.equal(x0[tree.end[i]], x1[i], "no gap");
		}
	}
});

test("children that have more than their parent are made to fit, and nothing at all is no error", () => {
	const json = { by: "growth", names: ["a"], files: [], groups: ["g"], frames: [[0, -1, 0, 0, 0]], frame: [-1, 0, 0, 0], depth: [0, 1, 2, 2], value: [1, 1, 1, 1], samples_of: [1, 1, 1, 1], width: [2, 2, 3, 1] };
	const { x0, x1 } = layOut(readTree(json));
	assert.deepEqual([...x0], [0, 0, 0, 0.75]);
	assert.deepEqual([...x1], [1, 1, 0.75, 1]);
	const none = layOut(readTree({ ...json, value: [0, 0, 0, 0], width: [0, 0, 0, 0] }));
	assert.ok([...none.x0, ...none.x1].every((v) => v >= 0 && v <= 1));
	visibleIn(none, 1, 500, 1, () => assert.fail("a node without a width takes no place"));
	assert.equal(hit(none, 1, 500, 1, 0), -1);
});

// The result of a search of all nodes
function atPixel(tree, { x0, x1 }, zoom, width, row, x) {
	const at = x0[zoom] + x / width * (x1[zoom] - x0[zoom]);
	for (let i = 0; i < tree.n; i++)
		if (tree.depth[i] === row && x0[i] <= at && at < x1[i])
			return i;
	return -1;
}

test("the node at a pixel, zoomed or not", () => {
	const rnd = random(3);
	for (const view of VIEWS) {
		const { tree, layout } = make(view);
		let found = 0, missed = 0;
		for (const zoom of [0, 1, 5, 40, 1000, tree.n - 1])
			for (let i = 0; i < 120; i++) {
				const row = Math.floor(rnd() * (tree.deepest + 2)), x = rnd() * 800, node = hit(layout, zoom, 800, row, x);
				assert.equal(node, atPixel(tree, layout, zoom, 800, row, x), `${zoom} ${row} ${x}`);
				node < 0 ? missed++ : found++;
			}
		assert.ok(found > 50 && missed > 50, `${found} ${missed}`);
		for (const [row, x] of [[-1, 5], [1e9, 5], [0, -1], [0, 800], [NaN, 5], [0, NaN]])
			assert.equal(hit(layout, 0, 800, row, x), -1);
	}
});

test("each pixel that a node covers is drawn, and nothing else", () => {
	for (const view of VIEWS)
		for (const zoom of [0, 12, 300]) {
			const { tree, layout } = make(view), width = 700;
			const part = layout.x1[zoom] - layout.x0[zoom];
			for (let row = 0; row <= tree.deepest; row++) {
				const painted = [];
				let end = 0;
				visibleIn(layout, zoom, width, row, (node, a, b) => {
					assert.ok(a >= end - 1e-6 && b >= a && b <= width, "from left to right, within");
					if (node >= 0)
						assert.ok(tree.depth[node] === row && b - a >= LEAST);
					end = b;
					painted.push([a, b, node]);
				});
				for (let i = 0; i < tree.n; i++) {
					if (tree.depth[i] !== row)
						continue;
					const px = (x) => Math.min(Math.max((x - layout.x0[zoom]) / part * width, 0), width);
					const [a, b] = [px(layout.x0[i]), px(layout.x1[i])];
					if (b - a >= LEAST)
						assert.equal(painted.filter(([, , n]) => n === i).length, 1, "each one that can be seen, once");
				}
				const there = Array.from({ length: tree.n }, (_, i) => i).filter((i) => tree.depth[i] === row).map((i) => [layout.x0[i], layout.x1[i]].map((x) => (x - layout.x0[zoom]) / part * width));
				for (const [a, b, node] of painted) // where small ones are together there is one nearby
					for (let x = a; node < 0 && x < b; x += LEAST)
						assert.ok(there.some(([from, to]) => from < x + LEAST && to > x - LEAST), `${row} ${x}`);
			}
		}
});

test("what is drawn depends on the pixels, not on the nodes", () => {
	// 50,000 children of one node, and one that is wide
	const n = 50000, list = [];
	const { tree, layout } = make({}, [{ frames: [["a", "", 0, "g", 0], ["b", "", 0, "g", 0]], live: n, total: n, growth: n, samples: 1 }]);
	assert.equal(tree.n, 3);
	const wide = { by: "live", names: Array.from({ length: n }, (_, i) => `f${i}`), files: [], groups: ["g"], frames: Array.from({ length: n }, (_, i) => [i, -1, 0, 0, 0]),
		frame: [-1, ...Array(n).keys()], depth: [0, ...Array(n).fill(1)], value: [2 * n, n, ...Array(n - 1).fill(1)], samples_of: Array(n + 1).fill(1) };
	const many = layOut(readTree(wide));
	visibleIn(many, 0, 1000, 1, (...args) => list.push(args));
	assert.deepEqual(list.map(([node, a]) => [node, Math.round(a)]), [[1, 0], [-1, 500]], "one rectangle for all of the small ones");
	assert.ok(Math.abs(list[1][2] - 1000) < 1);
	assert.ok(layout.deepest === 2);
});

test("the arrows go to the caller, to what it called, to its neighbours, and stay at the ends", () => {
	const { tree } = make({});
	const keys = (from, ...list) => list.reduce((node, key) => move(tree, node, key), from);
	assert.equal(keys(0, "ArrowUp"), 0);
	assert.equal(keys(0, "ArrowLeft"), 0);
	assert.equal(keys(0, "End"), 0);
	assert.equal(keys(0, "ArrowDown"), 1);
	assert.equal(move(tree, 5, "a"), undefined);
	assert.equal(move(tree, 5, "toString"), undefined);
	for (let i = 1; i < tree.n; i++) {
		const p = tree.parent[i], siblings = [];
		if (i !== p + 1)
			continue;
		for (let k = p + 1; k < tree.end[p]; k++)
			if (tree.parent[k] === p)
				siblings.push(k);
		siblings.forEach((node, at) => {
			assert.equal(move(tree, node, "ArrowUp"), p);
			assert.equal(move(tree, node, "ArrowRight"), siblings[Math.min(at + 1, siblings.length - 1)]);
			assert.equal(move(tree, node, "ArrowLeft"), siblings[Math.max(at - 1, 0)]);
			assert.equal(move(tree, node, "Home"), siblings[0]);
			assert.equal(move(tree, node, "End"), siblings.at(-1));
			assert.equal(move(tree, node, "ArrowDown"), tree.end[node] > node + 1 ? node + 1 : node);
		});
	}
	assert.equal(tree.value[keys(0, "ArrowDown")], Math.max(...Array.from({ length: tree.n }, (_, i) => (tree.parent[i] === 0 ? tree.value[i] : 0))), "down is to the largest");
	const one = 5;
	assert.deepEqual([0, 1, 4, 5, tree.end[one] - 1, tree.end[one]].map((i) => within(tree, one, i)), [true, true, true, true, true, false]);
});

// A canvas's context that notes what is painted
function paper() {
	const rects = [], texts = [];
	return { rects, texts, setTransform() {}, strokeRect() {}, set fillStyle(v) { this.fill = v; }, get fillStyle() { return this.fill; }, strokeStyle: "",
		fillRect(x, y, w, h) { rects.push([x, y, w, h, this.fill]); }, fillText(s, x, y) { texts.push([s, x, y, this.fill]); }, measureText: (s) => ({ width: s.length * 7 }) };
}

test("texts stay in their rectangles, matches and native frames can be told", () => {
	const { tree, layout } = make({}), c = paper(), painter = new Painter(c);
	painter.take(tree, layout);
	const view = { zoom: 0, width: 900, height: 30 * ROW, top: 0, dpr: 1, colours: withShades(NAMES.map((n) => (n === "--flame-edge" ? "rgba(0, 0, 0, 0)" : n))), hit: null };
	const edge = view.colours[NAMES.indexOf("--flame-edge")];
	Object.defineProperty(c, "strokeStyle", { get: () => edge, set() {} });
	const n = painter.paint(view);
	assert.ok(n > 300 && n < tree.n, `${n} of ${tree.n}: those that can be seen`);
	assert.ok(c.texts.length > 20);
	for (const [s, x, y] of c.texts) {
		const within = c.rects.filter(([rx, ry, w, h]) => h === ROW - 1 && y > ry && y < ry + h && x >= rx && x + s.length * 7 <= rx + w + 1);
		assert.ok(within.length > 0, `${s} at ${x}, ${y}`);
	}
	assert.ok(c.texts.some(([s]) => s.endsWith("\u2026")));
	assert.ok(c.texts.some(([s]) => s === "67.2\u00a0MB"));
	assert.ok(c.rects.some(([, , , h, fill]) => h === 2 && fill === "--flame-stripe"));
	for (let width = 300; width < 900; width += 17) {
		c.texts.length = 0;
		painter.paint({ ...view, width });
		for (const [s, x, y] of c.texts)
			assert.ok(!c.texts.some(([, x2, y2]) => y2 === y && x2 > x && x2 < x + s.length * 7), `${s}: nothing is written over it`);
	}
	// scrolled: rows above aren't drawn
	c.rects.length = c.texts.length = 0;
	painter.paint({ ...view, top: 5 * ROW, height: 3 * ROW });
	assert.ok(c.rects.slice(1).every(([, y, , h]) => y > -ROW && y < 3 * ROW + ROW && h <= ROW));
	assert.ok(!c.texts.some(([s]) => s === "all"));
	// searched
	c.rects.length = 0;
	const hits = new Uint8Array(tree.frames.length).fill(0);
	hits[tree.frame[3]] = 1;
	painter.paint({ ...view, hit: hits });
	const fills = new Set(c.rects.filter(([, , , h]) => h === ROW - 1).map(([, , , , fill]) => fill));
	assert.deepEqual([...fills].sort(), ["--flame-crumb", "--flame-faded", "--flame-hit"]);
});
