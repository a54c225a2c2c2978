// SPDX-License-Identifier: GPL-2.0-or-later
// The memory map: what its bytes mean, which tiles are asked for, where panels and cells are, what is painted, and words.
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { makeMap, tile, bitsOf, LINES } from "./memory_data.mjs";
import { coarser, spread, fillOf, isUsed, stateOf, STATES, UNLOADED } from "../../web/src/memory_states.js";
import { Tiles } from "../../web/src/memory_tiles.js";
import { layOut, fitZoom, zooms, visibleCells, visibleRows, hit, place, move, follow, pageOf, addressOf, asBefore, hex, rowOf } from "../../web/src/memory_layout.js";
import { paint, palette } from "../../web/src/memory_draw.js";
import { parseColour } from "../../web/src/memory_colours.js";
import { byBits, byColour } from "../../web/src/memory_light.js";
import { atQuery } from "../../web/src/memory_source.js";
import { EmbeddedSource } from "../../web/src/memory_embedded.js";
import { cellWords, differenceWords, legend, scaleWords, stateWords, stressed, trimWords, whatIfWords } from "../../web/src/memory_words.js";

const MAP = makeMap(), LARGE = makeMap({ gigabytes: 10 });
const VIEW = { width: 1240, cell: 2, level: 0, label: 20 };

// The tiles of a map, and what was asked for; answers come when `flush` is called.
function tilesOf(map, load = (level, n) => tile(map, level, n)) {
	const asked = [], waiting = [], lost = [];
	const tiles = new Tiles(map.json, (level, n) => {
		asked.push(`${level}/${n}`);
		return new Promise((done, fail) => waiting.push(() => { try { done(load(level, n)); } catch (e) { fail(e); } }));
	}, { loaded: () => {}, lost: (e) => lost.push(e.message) });
	const flush = async () => {
		while (waiting.length) {
			waiting.splice(0).forEach((go) => go());
			await new Promise(setImmediate);
		}
	};
	return { tiles, asked, waiting, lost, flush };
}

/* --- bytes --------------------------------------------------------------------- */

test("a coarser cell has the state that most of its pages in memory have", () => {
	const of = (...fill) => coarser(Uint8Array.from(fill), new Uint8Array(fill.length), 4).fill[0];
	assert.equal(of(0, 0, 0, 0), 0);
	assert.equal(of(0, 0, 0, 1), 1, "what isn't in memory counts only if nothing is");
	assert.equal(of(1, 1, 10, 30), 1, "the first of as many");
	assert.equal(of(1, 10, 30, 0), 20, "the mean of used ones");
	assert.equal(of(8 | 64, 8, 128, 0), 8 | 64 | 128, "flags of any");
	assert.deepEqual([...coarser(Uint8Array.of(8, 8, 8, 8, 8), Uint8Array.of(3, 3, 2, 0, 255), 4).line], [3, 255]);
});

test("levels of the made-up map agree with its pages", () => {
	const [{ fill }, up] = MAP.levels;
	assert.equal(up.fill.length, Math.ceil(fill.length / 4));
	for (let c = 0; c < up.fill.length; c += 7)
		assert.equal(up.fill[c] === 0, [0, 1, 2, 3].every((i) => !(fill[c * 4 + i] & 63)));
});

test("fill is between nothing and all", () => {
	assert.deepEqual([8, 63, 63 | 192].map(fillOf), [0, 1, 1]);
	assert.deepEqual([7, 8, 64 | 7].map(isUsed), [false, true, false]);
	assert.equal(stateOf(192 | 5), 5);
});

test("bits lie at the cells of each level", () => {
	const bits = Uint8Array.of(0b00010000, 0b10000001);
	assert.deepEqual([...spread(bits, 14, 0)].flatMap((b, i) => (b ? [i] : [])), [4, 8], "the last bit is behind the end");
	assert.deepEqual([...spread(bits, 16, 1)], [0, 1, 1, 1]);
	assert.deepEqual([...spread(bits, 14, 2)], [1]);
});

/* --- tiles --------------------------------------------------------------------- */

test("only tiles that are looked at are asked for, a few at a time, the coarsest first", async () => {
	const { tiles, asked, flush } = tilesOf(LARGE);
	tiles.want(0, [[0, 10], [65530, 65540], [200000, 200001]]);
	assert.deepEqual(asked, [`${LARGE.json.levels - 1}/0`, "0/0", "0/1", "0/3"]);
	tiles.want(0, [[0, 10 * 65536]]);
	await flush();
	assert.deepEqual(asked.slice(4).sort(), ["0/2", "0/4", "0/5", "0/6", "0/7", "0/8", "0/9"].sort());
	tiles.want(0, [[0, 65536]]);
	await flush();
	assert.equal(asked.length, 11, "none twice");
});

test("what was scrolled past isn't asked for", async () => {
	const { tiles, asked, flush } = tilesOf(LARGE);
	tiles.want(0, [[0, 20 * 65536]]);
	tiles.want(0, [[30 * 65536, 31 * 65536]]);
	await flush();
	assert.deepEqual(asked, ["3/0", "0/0", "0/1", "0/2", "0/30"]);
});

test("until a tile is here its cells are those of a coarser level", async () => {
	const { tiles, flush, waiting } = tilesOf(LARGE);
	const row = new Uint8Array(256), last = LARGE.json.levels - 1;
	tiles.row(0, 65400, 256, row);
	assert.ok(row.every((b) => b === UNLOADED));
	tiles.want(0, [[65400, 65656]]);
	waiting.shift()();
	await new Promise(setImmediate);
	tiles.row(0, 65400, 256, row);
	assert.deepEqual([...row], Array.from({ length: 256 }, (_, i) => LARGE.levels[last].fill[Math.floor((65400 + i) / 4 ** last)]));
	await flush();
	tiles.row(0, 65400, 256, row);
	assert.deepEqual(row, LARGE.levels[0].fill.slice(65400, 65656), "across two tiles");
	assert.deepEqual(tiles.cell(0, 65500), [LARGE.levels[0].fill[65500], LARGE.levels[0].line[65500]]);
});

test("a tile that can't be had is told, may be asked for again, and stops the rest", async () => {
	const { tiles, asked, lost, flush } = tilesOf(LARGE, () => { throw Object.assign(new Error("no such snapshot"), { status: 404 }); });
	tiles.want(0, [[0, 20 * 65536]]);
	await flush();
	assert.deepEqual(new Set(lost), new Set(["no such snapshot"]));
	assert.ok(asked.length <= 4, `${asked}`);
	const short = tilesOf(MAP, () => new Uint8Array(3));
	short.tiles.want(0, [[0, 1]]);
	await short.flush();
	assert.match(short.lost[0], /^tile \d\/0: 3 bytes, not \d+$/);
});

test("a snapshot that is kept has all of a level, and asks no more", async () => {
	const { tiles, asked, flush } = tilesOf(LARGE, (level, n) => tile(LARGE, level, n));
	const all = tiles.all(2);
	let here = false;
	all.then(() => { here = true; });
	while (!here)
		await flush();
	assert.equal(asked.length, 3);
	tiles.close();
	tiles.want(2, [[0, 1e6]]);
	tiles.want(0, [[0, 1e6]]);
	assert.equal(asked.length, 3);
	assert.equal(tiles.cell(0, 99999)[0], LARGE.levels[2].fill[99999 >> 4]);
});

/* --- layout -------------------------------------------------------------------- */

test("panels lie in lines, apart from one another, and have all their cells once", () => {
	for (const [width, cell, level] of [[1240, 2, 0], [360, 1, 0], [1240, 1, 1], [2500, 4, 0], [200, 1, 2], [700, 8, 0]]) {
		const layout = layOut(MAP.json.panels, { width, cell, level, label: 20 });
		const seen = new Uint8Array(Math.ceil(MAP.json.cells / 4 ** level) + 1);
		visibleRows(layout, 0, layout.height, (from, n, x, y, b) => {
			assert.ok(x >= b.x && x + n * cell <= b.x + b.width && y >= b.y + 20 && y + cell <= b.y + b.height);
			for (let i = from; i < from + n; i++)
				seen[i]++;
		});
		const ends = new Set(layout.blocks.map((b) => b.from));
		seen.subarray(0, -1).forEach((n, i) => assert.ok(n === 1 || (n === 2 && ends.has(i)), `${width} ${cell} ${level}: cell ${i} ${n} times`));
		layout.blocks.forEach((a, i) => layout.blocks.slice(0, i).forEach((b) =>
			assert.ok(a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height)));
		assert.ok(layout.blocks.every((b) => b.x === 0 || b.x + b.width <= width));
	}
});

test("a row of cells fills the width where a pixel more or less can't be seen", () => {
	const layout = layOut(MAP.json.panels, { width: 1408, cell: 4, level: 0, label: 20 }), [b] = layout.blocks;
	assert.deepEqual([b.width, layout.cell, layout.row], [1408, 5, 256]);
	for (let cell = b.from; cell < Math.min(b.to, b.from + 256); cell++) {
		const { x, y } = place(layout, { block: b, cell });
		assert.equal(hit(layout, x, y).cell, cell);
		if (cell > b.from)
			assert.equal(hit(layout, x - 1, y).cell, cell - 1);
	}
	assert.equal(layOut(LARGE.json.panels, { width: 1240, cell: 1, level: 0, label: 20 }).broad, 1);
});

test("a row is 1 MiB where there is room for it", () => {
	assert.deepEqual([[1240, 2], [300, 1], [255, 1], [400, 2], [700, 8]].map(([w, c]) => rowOf(w, c)), [256, 256, 128, 128, 64]);
});

test("a large heap fits by a coarser level, in columns side by side", () => {
	const at = (map, width, height) => zooms(map.json)[fitZoom(map.json, { width, height, whole: height * 1.4, label: 20 })];
	assert.deepEqual(at(MAP, 1240, 580), [0, 2]);
	assert.deepEqual(at(MAP, 360, 580), [0, 1], "titles don't make cells coarser");
	assert.deepEqual(at(LARGE, 1240, 580)[0], 2);
	assert.deepEqual(at(LARGE, 1240, 2800), [0, 1]);
	assert.deepEqual(at(LARGE, 100, 10), [LARGE.json.levels - 1, 1], "the last one if none fits");
	const small = { json: { ...MAP.json, panels: MAP.json.panels.map((p) => ({ ...p, cells: 500 })) } };
	assert.deepEqual(at(small, 1240, 500), [0, 2], "two in a line rather than a tall map");
	assert.deepEqual(at({ json: { ...MAP.json, panels: MAP.json.panels.slice(0, 2) } }, 1240, 580), [0, 4]);
	assert.deepEqual(zooms({ levels: 4, finest: 2 }), [[2, 8], [2, 4], [2, 2], [2, 1], [3, 1]]);
	const layout = layOut(LARGE.json.panels, { width: 1240, cell: 1, level: 0, label: 20 });
	assert.equal(layout.blocks[0].columns, 4);
});

test("a point and its cell", () => {
	const layout = layOut(MAP.json.panels, VIEW);
	for (const b of layout.blocks)
		for (const cell of [b.from, b.from + 255, b.from + 256, b.to - 1]) {
			const { x, y } = place(layout, { block: b, cell });
			for (const [dx, dy] of [[0, 0], [1, 1]])
				assert.deepEqual(hit(layout, x + dx, y + dy), { block: b, cell });
		}
	const { blocks: [b] } = layout;
	assert.equal(hit(layout, b.x, b.y), null, "the title");
	assert.equal(hit(layout, b.x + b.width + 1, b.y + 30), null, "between two");
	const large = layOut(LARGE.json.panels, { ...VIEW, cell: 1 });
	assert.equal(hit(large, 256 + 2, 100), null, "between columns");
	const at = { block: large.blocks[0], cell: large.blocks[0].rows * 256 };
	assert.deepEqual(place(large, at), { x: 256 + 6, y: 20 });
	assert.deepEqual(hit(large, 262, 20), at);
});

test("keys", () => {
	const layout = layOut(MAP.json.panels, VIEW), [a, b] = layout.blocks, last = layout.blocks.at(-1);
	const go = (block, cell, key) => { const to = move(layout, { block, cell }, key); return [layout.blocks.indexOf(to.block), to.cell]; };
	assert.deepEqual(go(a, 5, "ArrowRight"), [0, 6]);
	assert.deepEqual(go(a, 5, "ArrowDown"), [0, 261]);
	assert.deepEqual(go(a, 5, "ArrowUp"), [0, 5], "the first panel has nothing above");
	assert.deepEqual(go(a, a.to - 1, "ArrowRight"), [1, b.from]);
	assert.deepEqual(go(b, b.from, "ArrowLeft"), [0, a.to - 1]);
	assert.deepEqual(go(b, b.from + 9, "Home"), [1, b.from]);
	assert.deepEqual(go(a, 0, "End"), [0, a.to - 1]);
	assert.deepEqual(go(a, 7, "PageDown"), [1, b.from]);
	assert.deepEqual(go(b, b.from + 7, "PageUp"), [0, a.from]);
	assert.deepEqual(go(last, last.to - 1, "ArrowDown"), [layout.blocks.length - 1, last.to - 1]);
	assert.equal(move(layout, { block: a, cell: 0 }, "x"), undefined);
});

test("the cursor stays on its page at another zoom", () => {
	const fine = layOut(LARGE.json.panels, { ...VIEW, cell: 1 }), coarse = layOut(LARGE.json.panels, { ...VIEW, level: 2, cell: 1 });
	for (const page of [0, 12345, LARGE.json.panels[1].cell, LARGE.json.panels[1].cell + 3999]) {
		const panel = LARGE.json.panels.findLastIndex((p) => page >= p.cell), at = follow(coarse, panel, page);
		assert.equal(at.cell, page >> 4);
		const first = pageOf(coarse, LARGE.json.panels, at);
		assert.ok(first <= page && page - first < 16 && first >= LARGE.json.panels[panel].cell);
		assert.equal(follow(fine, panel, page).cell, page);
	}
	assert.equal(follow({ blocks: [] }, 0, 0), null);
});

test("the panels of a later snapshot lie as those of the earlier one", () => {
	const panel = (name, at, cell) => ({ name, cell, cells: 1, spans: [[at, cell, 1]] });
	const before = [panel("main arena", "0x1000", 0), panel("thread arena 1", "0x2000", 1), panel("thread arena 2", "0x3000", 2)];
	const after = [panel("main arena", "0x1000", 0), panel("thread arena 1", "0x3000", 1), panel("thread arena 2", "0x4000", 2), panel("thread arena 3", "0x2000", 3)];
	assert.deepEqual(asBefore(before, after).map((p) => [p.name, p.spans[0][0], p.cell]),
		[["main arena", "0x1000", 0], ["thread arena 1", "0x2000", 3], ["thread arena 2", "0x3000", 1], ["thread arena 2 (new)", "0x4000", 2]]);
	const layout = layOut(asBefore(before, after), VIEW);
	assert.deepEqual(layout.blocks.map((b) => b.from), [0, 3, 1, 2]);
});

test("addresses, of panels in several pieces too, up to the last page", () => {
	const panel = { cell: 10, cells: 20, spans: [["0x55d0c0000000", 10, 5], ["0xfffffffffffff000", 15, 15]] };
	assert.equal(hex(addressOf(panel, 14, 4096)), "0x55d0c0004000");
	assert.equal(hex(addressOf(panel, 15, 4096)), "0xfffffffffffff000");
});

/* --- pictures ------------------------------------------------------------------ */

const COLOURS = Object.fromEntries([...STATES, "few", "full", "lit", "ground"].map((name, i) => [name, [10 * i, 20 + i, 200 - i]]));
const rgb = (p) => [p & 255, p >> 8 & 255, p >> 16 & 255];

test("each cell is painted where it is, and only what can be seen", async () => {
	const { tiles, flush } = tilesOf(MAP), layout = layOut(MAP.json.panels, VIEW);
	const view = { width: VIEW.width, height: 300, top: 75 }, pixels = new Uint32Array(view.width * view.height);
	tiles.want(0, visibleCells(layout, 0, layout.height));
	await flush();
	const lit = byBits(bitsOf(MAP, [LINES[0]]), MAP.json)(0), usual = palette(COLOURS, true);
	const painted = paint(pixels, view, layout, tiles, COLOURS, lit);
	assert.ok(painted > 10000 && painted < MAP.json.cells, `${painted}`);
	for (let y = 0; y < view.height; y += 1)
		for (let x = 0; x < view.width; x += 3) {
			const at = hit(layout, x, y + view.top), p = pixels[y * view.width + x];
			if (at)
				assert.deepEqual(rgb(p), lit[at.cell] ? COLOURS.lit : rgb(usual[MAP.levels[0].fill[at.cell]]), `${x} ${y}`);
			else
				assert.deepEqual(rgb(p), COLOURS.ground);
		}
});

test("2.6 million cells of 10 GB in one picture", async () => {
	const { tiles, flush } = tilesOf(LARGE), layout = layOut(LARGE.json.panels, { width: 1240, cell: 1, level: 0, label: 20 });
	const ranges = visibleCells(layout, 0, layout.height);
	assert.ok(ranges.length < 20, "neighbouring rows are one range");
	tiles.want(0, ranges);
	await flush();
	const view = { width: 1240, height: layout.height, top: 0 }, pixels = new Uint32Array(view.width * view.height), from = performance.now();
	const painted = paint(pixels, view, layout, tiles, COLOURS, null);
	console.log(`# ${painted} cells painted in ${(performance.now() - from).toFixed(0)} ms`);
	assert.equal(painted, LARGE.json.cells);
	const unloaded = palette(COLOURS)[UNLOADED];
	assert.ok(!pixels.includes(unloaded));
});

test("a line lights up by its colour where the server has the snapshot no more", async () => {
	const { tiles, flush } = tilesOf(MAP);
	tiles.want(0, [[0, MAP.json.cells]]);
	await flush();
	const exact = byBits(bitsOf(MAP, [LINES[1], LINES[2]]), MAP.json)(0);
	assert.deepEqual(byColour([LINES[1], LINES[2], "/other.rb:1"], MAP.json, (level) => tiles.level(level).line)(0), exact);
});

test("a page without a server has its cells in it, and makes coarser levels of them", async () => {
	const { json, levels } = MAP, planes = (at) => [levels[at].fill, levels[at].line].map((p) => Buffer.from(p));
	for (const level of [0, 1]) {
		const packed = deflateSync(Buffer.concat(planes(level))).toString("base64");
		const source = new EmbeddedSource(JSON.stringify({ level, map: json }), packed), map = await source.snapshot();
		assert.deepEqual([map.finest, map.cells], [level, json.cells]);
		assert.deepEqual(source.lines(level), levels[level].line);
		assert.deepEqual(Buffer.from(await source.tile(map, level, 0)), tile(MAP, level, 0));
		const up = await source.tile(map, 2, 0);
		assert.equal(up.length, 2 * levels[2].fill.length);
		if (!level)
			assert.deepEqual(Buffer.from(up), tile(MAP, 2, 0));
	}
});

// CIE L* of a colour
function lightness(text) {
	const [r, g, b] = parseColour(text).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
	return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
}

test("colours differ in lightness, in light and dark", () => {
	const css = readFileSync(new URL("../../web/memory.css", import.meta.url), "utf8");
	const all = [...css.matchAll(/--map-(none|empty|end|few|full|ruby): (#\w+);/g)];
	assert.equal(all.length, 12);
	for (const theme of [all.slice(0, 6), all.slice(6)]) {
		const sorted = theme.map(([, name, text]) => [lightness(text), name]).sort((a, b) => a[0] - b[0]);
		sorted.slice(1).forEach(([l, name], i) => assert.ok(l - sorted[i][0] >= 7, `${sorted[i][1]} and ${name}: ${sorted[i][0].toFixed(0)}, ${l.toFixed(0)}`));
	}
	assert.deepEqual(parseColour("#fff"), [255, 255, 255]);
	assert.deepEqual(parseColour("red"), [128, 128, 128]);
});

/* --- words --------------------------------------------------------------------- */

test("what a cell is", () => {
	const { json } = MAP, byLine = new Map([[1, "/srv/a.rb:3"]]), panel = json.panels[3];
	const words = (byte, line, pages = 1) => cellWords({ byte, line, pages, address: "0x7f00", panel, json, byColour: byLine });
	assert.equal(words(63, 1), "100\u00a0% of it are live blocks \u00b7 largely /srv/a.rb:3 \u00b7 thread arena 3, 0x7f00");
	assert.equal(words(8 | 64 | 128, 9), "under 2\u00a0% of it are live blocks \u00b7 largely of a line that isn\u2019t in the table \u00b7 shared with another process \u00b7 part of a huge page \u00b7 thread arena 3, 0x7f00");
	assert.equal(words(1, 0, 16), "16 pages, most of them: empty: in memory, no block is there; malloc_trim gives it back \u00b7 thread arena 3, 0x7f00");
	assert.match(stateWords(1, "jemalloc"), /a trim gives it back$/);
	for (let s = 0; s < 8; s++)
		assert.ok(stateWords(s, "glibc").length > 4);
	assert.equal(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8].map((s) => stateWords(s, "glibc"))).size, 9);
});

test("scale, legend and amounts", () => {
	assert.equal(scaleWords(0, 256, 4096), "One square = 4 KiB, one row = 1 MiB");
	assert.equal(scaleWords(2, 256, 4096), "One square = 64 KiB (16 pages), one row = 16 MiB");
	assert.equal(scaleWords(0, 128, 4096), "One square = 4 KiB, one row = 512 KiB");
	assert.equal(scaleWords(5, 256, 4096), "One square = 4 MiB (1,024 pages), one row = 1 GiB");
	assert.ok(!legend(MAP.json).some(([name]) => ["swapped", "unknown"].includes(name)));
	assert.equal(legend({ ...MAP.json, missing: "sampled", swapped_bytes: 1 }).length, legend(MAP.json).length + 2);
	assert.deepEqual(stressed("215 MB is in memory. 137 MB (64 %) is empty; 26,371 blocks."),
		[["215 MB", true], [" is in memory. ", false], ["137 MB (64 %)", true], [" is empty; 26,371 blocks.", false]]);
});

test("two snapshots, a trim and what if, in words", () => {
	const after = makeMap({ trimmed: true }).json;
	assert.match(differenceWords(MAP.json, { ...after, unix: MAP.json.unix + 3 }), /^3 seconds later \d+\.?\d*\u00a0MB less is in memory: empty pages \d+\.?\d*\u00a0MB less\.$/);
	assert.equal(differenceWords(MAP.json, { ...MAP.json, unix: MAP.json.unix + 60 }), "60 seconds later as much is in memory.");
	assert.equal(differenceWords(MAP.json, { ...MAP.json, unix: MAP.json.unix + 0.2 }), "A moment later as much is in memory.");
	assert.equal(trimWords({ bytes: 137e6, least_bytes: 120e6, milliseconds: 80 }, "glibc"), "malloc_trim would give back 114\u00a0MB to 131\u00a0MB. Threads that allocate meanwhile wait up to 80\u00a0ms in all.");
	assert.match(trimWords({ bytes: 5, least_bytes: 5, milliseconds: 0.2 }, "mimalloc"), /^A trim would give back 5\u00a0B\. .* less than 1\u00a0ms in all\.$/);
	assert.equal(trimWords({ bytes: null, least_bytes: null, milliseconds: null }, "glibc"), "malloc_trim gives back what is free: how much isn\u2019t known.");
	assert.equal(trimWords({ bytes: 0, least_bytes: 0, milliseconds: 0 }, "mimalloc"), "A trim would give nothing back.");
	assert.equal(whatIfWords({ locations: 1, blocks: 1525, bytes: 800000, empty_now_bytes: 1 << 20, empty_then_bytes: 7 << 20 }), "Without 1,525 blocks (781\u00a0KB) of this line, 6.00\u00a0MB more would be empty pages.");
});

test("questions about lines stay short enough", () => {
	globalThis.document = { documentElement: { dataset: {} } };
	assert.equal(atQuery(["/a b.rb:1", "/c.rb:2"]), "?at=%2Fa%20b.rb%3A1&at=%2Fc.rb%3A2");
	assert.throws(() => atQuery(Array(200).fill("/some/long/path/of/a/file.rb:123")), /200 lines are too many for one question/);
});
