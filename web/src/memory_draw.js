// SPDX-License-Identifier: GPL-2.0-or-later
// memory_draw.js - paints the cells that can be seen into an image's pixels. Nothing here touches the page.

import { edge, visibleRows } from "./memory_layout.js";
import { LEAST_USED, MOST_USED, STATES, stateOf, fillOf } from "./memory_states.js";

// A pixel as ImageData has it, of [red, green, blue]; on a little-endian machine, as all with this browser are
const pixel = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

const mix = (a, b, part) => a.map((v, i) => Math.round(v + (b[i] - v) * part));

// A pixel for each byte of the fill plane. colours: [red, green, blue] by name (STATES, few, full, ground);
// faded: as what isn't selected is shown
export function palette(colours, faded) {
	const table = new Uint32Array(256);
	for (let v = 0; v < 256; v++) {
		const s = stateOf(v);
		const c = s >= LEAST_USED && s <= MOST_USED ? mix(colours.few, colours.full, fillOf(s)) : colours[STATES[s]];
		table[v] = pixel(faded ? mix(c, colours.ground, 0.72) : c);
	}
	return table;
}

// pixels: width times height of them, filled whole. colours: see palette. lit: null, or a byte for each cell of
// the level, 1: it is lit. Returns how many cells were painted.
export function paint(pixels, { width, height, top }, layout, tiles, colours, lit) {
	const { cell, level, row } = layout, usual = palette(colours, Boolean(lit)), bright = pixel(colours.lit);
	const bytes = new Uint8Array(row);
	let painted = 0;
	pixels.fill(pixel(colours.ground));
	visibleRows(layout, top, top + height - 1, (from, n, x, y) => {
		const y0 = Math.max(y - top, 0), y1 = Math.min(y - top + cell, height);
		if (y0 >= y1)
			return;
		tiles.row(level, from, n, bytes);
		const start = y0 * width + x, line = (y0 + 1) * width;
		let p = start;
		for (let i = 0; i < n && p < line; i++) {
			const c = lit && lit[from + i] ? bright : usual[bytes[i]];
			for (const end = Math.min(start + edge(layout, i + 1), line); p < end;)
				pixels[p++] = c;
		}
		for (let k = y0 + 1; k < y1; k++)
			pixels.copyWithin(k * width + x, start, p);
		painted += n;
	});
	return painted;
}
