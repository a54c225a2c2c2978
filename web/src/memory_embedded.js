// SPDX-License-Identifier: GPL-2.0-or-later
// memory_embedded.js - the memory map's data where there is no server: all of it is in the page, one snapshot at one
// level, of which the coarser ones are made.

import { coarser } from "./memory_states.js";

async function inflate(base64) {
	const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
	return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

export class EmbeddedSource {
	// json: {map: what /map.json says, level: the finest one that is in the page}; cells: its two planes, deflated, in base64
	constructor(json, cells) {
		Object.assign(this, { json, cells, levels: new Map() });
	}

	async snapshot() {
		const { map, level } = JSON.parse(this.json), planes = await inflate(this.cells), n = Math.ceil(map.cells / 4 ** level);
		if (planes.length !== 2 * n)
			throw new Error(`the page has ${planes.length} bytes of cells, not ${2 * n}`);
		this.map = { ...map, finest: level };
		this.levels.set(level, { fill: planes.subarray(0, n), line: planes.subarray(n) });
		return this.map;
	}

	planes(level) {
		const { finest } = this.map, { fill, line } = this.levels.get(finest);
		return this.levels.get(level) ?? this.levels.set(level, coarser(fill, line, 4 ** (level - finest))).get(level);
	}

	async tile({ tile_cells: size }, level, n) {
		const { fill, line } = this.planes(level), from = n * size, cells = Math.min(size, fill.length - from), bytes = new Uint8Array(2 * cells);
		bytes.set(fill.subarray(from, from + cells));
		bytes.set(line.subarray(from, from + cells), cells);
		return bytes;
	}

	// A line byte for each cell of a level
	lines(level) {
		return this.planes(level).line;
	}
}
