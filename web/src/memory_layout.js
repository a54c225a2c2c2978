// SPDX-License-Identifier: GPL-2.0-or-later
// memory_layout.js - where the memory map's panels and cells are: one panel for each arena, rows of 256 cells, columns
// of rows side by side where a panel is tall. Positions are whole pixels of the screen. Pure.

const ROW = 256; // cells: 1 MiB at level 0
const COLUMN_GAP = 6, PANEL_GAP = 20;
const TALL = 220; // of a column, if others fit beside it
const BROAD = 3; // pixels from which on a cell may be a pixel broader than its neighbour, so that a row fills the width

// The zooms, the closest one first: [level, size of a cell]. Each has about a quarter of the area of the one before.
// finest: the least level that there is
export function zooms({ levels, finest = 0 }) {
	return [[finest, 8], [finest, 4], [finest, 2], ...Array.from({ length: levels - finest }, (_, i) => [finest + i, 1])];
}

// Cells in a row: 256, or as many as there is room for
export function rowOf(width, cell) {
	let row = ROW;
	while (row > 16 && row * cell > width)
		row /= 2;
	return row;
}

// The cells of a panel at a level: [first, one behind the last]
export const cellsOf = (panel, level) => [Math.floor(panel.cell / 4 ** level), Math.ceil((panel.cell + panel.cells) / 4 ** level)];

// cell: the least size of one; it is larger if as many columns of rows then fill the width.
// {blocks: [{panel, x, y, width, height, from, to, rows (of a column), columns}], height, tall (the cells' part of it), row, cell (its
// height), broad (its width, see edge()), level}
export function layOut(panels, { width, cell: least, level, label, scale = 1 }) {
	const row = rowOf(width, least), gap = Math.round(COLUMN_GAP * scale), between = Math.round(PANEL_GAP * scale);
	const most = Math.max(1, Math.floor((width + gap) / (row * least + gap)));
	const room = (width - (most - 1) * gap) / (most * row), cell = Math.max(least, Math.floor(room));
	const broad = cell >= BROAD && room > cell ? room : cell, wide = Math.floor(row * broad);
	const tall = Math.max(8, Math.floor(TALL * scale / cell));
	const blocks = [];
	let x = 0, y = 0, deep = 0, cells = 0;
	panels.forEach((panel, i) => {
		const [from, to] = cellsOf(panel, level);
		if (from === to)
			return;
		const all = Math.ceil((to - from) / row), columns = Math.min(most, Math.ceil(all / tall)), rows = Math.ceil(all / columns);
		const w = columns * (wide + gap) - gap;
		if (x && x + w > width) {
			y += deep + between;
			cells += deep - label;
			x = deep = 0;
		}
		const block = { panel: i, x, y, width: w, height: label + rows * cell, from, to, rows, columns };
		blocks.push(block);
		x += w + between;
		deep = Math.max(deep, block.height);
	});
	return { blocks, height: y + deep, tall: cells + Math.max(deep - label, 0), row, cell, broad, level, label, wide, gap };
}

// Where the i-th cell of a row begins, in pixels
export const edge = ({ broad }, i) => Math.round(i * broad);

// The closest zoom at which the cells alone are no taller than `height`, and all is no taller than `whole`; if titles take
// too much for that, the one at which all is least tall. The last one if the cells fit at none.
export function fitZoom(json, { width, height, whole, scale = 1, label }) {
	const fits = zooms(json).flatMap(([level, px], zoom) => {
		const cell = Math.max(1, Math.round(px * scale)), layout = layOut(json.panels, { width, cell, level, label, scale });
		return rowOf(width, cell) === ROW && layout.tall <= height ? [{ zoom, level, tall: layout.height }] : [];
	});
	const near = fits.filter((f) => f.level === fits[0].level);
	return (near.find((f) => f.tall <= whole) ?? near.reduce((a, b) => (b.tall < a.tall ? b : a), near[0]))?.zoom ?? zooms(json).length - 1;
}

// The pieces of rows that can be seen between two heights: each(from, n, x, y), a call for a row of cells
export function visibleRows(layout, top, bottom, each) {
	const { row, cell, label, wide, gap } = layout;
	for (const b of layout.blocks) {
		const y0 = b.y + label;
		if (b.y > bottom || b.y + b.height < top)
			continue;
		const first = Math.max(0, Math.floor((top - y0) / cell)), last = Math.min(b.rows - 1, Math.floor((bottom - y0) / cell));
		for (let column = 0; column < b.columns; column++)
			for (let r = first; r <= last; r++) {
				const from = b.from + (column * b.rows + r) * row;
				if (from >= b.to)
					break;
				each(from, Math.min(row, b.to - from), b.x + column * (wide + gap), y0 + r * cell, b);
			}
	}
}

// The ranges of cells that can be seen, for the tiles: [[from, to), ...]
export function visibleCells(layout, top, bottom) {
	const ranges = [];
	visibleRows(layout, top, bottom, (from, n) => {
		const last = ranges[ranges.length - 1];
		if (last && last[1] === from)
			last[1] += n;
		else
			ranges.push([from, from + n]);
	});
	return ranges;
}

// {block, cell} at a point, or null
export function hit(layout, x, y) {
	const { row, cell, broad, label, wide, gap } = layout;
	for (const b of layout.blocks) {
		if (x < b.x || x >= b.x + b.width || y < b.y + label || y >= b.y + b.height)
			continue;
		const column = Math.floor((x - b.x) / (wide + gap)), left = x - b.x - column * (wide + gap);
		if (left >= wide)
			return null;
		const at = b.from + (column * b.rows + Math.floor((y - b.y - label) / cell)) * row + Math.min(Math.ceil((Math.floor(left) + 0.5) / broad) - 1, row - 1);
		return at < b.to ? { block: b, cell: at } : null;
	}
	return null;
}

// Where a cell of a block is: its upper left corner
export function place(layout, { block, cell }) {
	const at = cell - block.from, r = Math.floor(at / layout.row), column = Math.floor(r / block.rows);
	return { x: block.x + column * (layout.wide + layout.gap) + edge(layout, at % layout.row), y: block.y + layout.label + (r - column * block.rows) * layout.cell };
}

// Where a key leads from a cell; undefined: it is no such key
export function move(layout, at, key) {
	const { blocks, row } = layout, i = blocks.indexOf(at.block);
	const begin = (block) => ({ block, cell: block.from }), end = (block) => ({ block, cell: block.to - 1 });
	const by = (n) => {
		const cell = at.cell + n;
		if (cell < at.block.from)
			return i ? end(blocks[i - 1]) : at;
		if (cell >= at.block.to)
			return i + 1 < blocks.length ? begin(blocks[i + 1]) : at;
		return { block: at.block, cell };
	};
	switch (key) {
	case "ArrowRight": return by(1);
	case "ArrowLeft": return by(-1);
	case "ArrowDown": return by(row);
	case "ArrowUp": return by(-row);
	case "Home": return begin(at.block);
	case "End": return end(at.block);
	case "PageDown": return i + 1 < blocks.length ? begin(blocks[i + 1]) : at;
	case "PageUp": return i ? begin(blocks[i - 1]) : at;
	default: return undefined;
	}
}

// The same page at another layout: the cell that has it
export function follow(layout, panel, page) {
	const block = layout.blocks.find((b) => b.panel === panel) || layout.blocks[0];
	if (!block)
		return null;
	return { block, cell: Math.min(Math.max(Math.floor(page / 4 ** layout.level), block.from), block.to - 1) };
}

// The first page of a cell, as a cell of level 0
export const pageOf = (layout, panels, { block, cell }) => Math.max(cell * 4 ** layout.level, panels[block.panel].cell);

// The address of a page; addresses are multiples of a page's size, which a Number holds exactly up to 2^64.
export function addressOf(panel, page, pageBytes) {
	const span = panel.spans.findLast((s) => page >= s[1]) || panel.spans[0];
	return Number(span[0]) + (page - span[1]) * pageBytes;
}
export const hex = (address) => `0x${BigInt(address).toString(16)}`;

// The panels of a later snapshot, in the order and with the names of an earlier one's, as far as they begin at the same
// addresses. Their cells stay what they are.
export function asBefore(before, panels) {
	const start = (p) => p.spans[0]?.[0], rank = new Map(before.map((p, i) => [start(p), i])), names = new Set(before.map((p) => p.name));
	const name = (p) => before[rank.get(start(p))]?.name ?? (names.has(p.name) ? `${p.name} (new)` : p.name);
	return panels.map((p) => ({ ...p, name: name(p) }))
		.sort((a, b) => (rank.get(start(a)) ?? before.length) - (rank.get(start(b)) ?? before.length));
}
