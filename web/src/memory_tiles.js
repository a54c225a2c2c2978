// SPDX-License-Identifier: GPL-2.0-or-later
// memory_tiles.js - the cells of one snapshot, as far as they are here. They come in tiles: only those that are
// looked at are asked for, a few at a time. Until a tile is here its cells are shown by a coarser level.

import { UNLOADED } from "./memory_states.js";

const AT_ONCE = 4;
const [ABSENT, ASKED, HERE] = [0, 1, 2];

export class Tiles {
	// load(level, n): a promise of tile n's bytes; on: {loaded(), lost(error)}
	constructor({ cells, levels, tile_cells: size }, load, on) {
		Object.assign(this, { cells, size, load, on, running: 0, wanted: [] });
		this.levels = Array.from({ length: Math.max(levels, 1) }, (_, level) => ({ n: Math.ceil(cells / 4 ** level), fill: null, line: null, state: null }));
	}

	get last() {
		return this.levels.length - 1;
	}

	// A level's planes, made when it is first looked at
	level(level) {
		const at = this.levels[level];
		if (!at.fill) {
			at.fill = new Uint8Array(at.n).fill(UNLOADED);
			at.line = new Uint8Array(at.n);
			at.state = new Uint8Array(Math.ceil(at.n / this.size));
		}
		return at;
	}

	// ranges: [from, to) of cells that are looked at. Tiles that were wanted before and not asked for yet are
	// dropped; the coarsest level comes first, so that the map soon shows something.
	want(level, ranges) {
		const wanted = [];
		const add = (l, n) => {
			if (this.level(l).state[n] === ABSENT && !wanted.some((w) => w[0] === l && w[1] === n))
				wanted.push([l, n]);
		};
		if (this.levels[this.last].n <= this.size)
			add(this.last, 0);
		for (const [from, to] of ranges)
			for (let n = Math.floor(from / this.size); n * this.size < to; n++)
				add(level, n);
		this.wanted = wanted;
		this.next();
	}

	next() {
		while (this.running < AT_ONCE && this.wanted.length && !this.closed)
			this.ask(...this.wanted.shift());
	}

	async ask(level, n) {
		const at = this.level(level);
		at.state[n] = ASKED;
		this.running++;
		let lost = null;
		try {
			this.put(level, n, await this.load(level, n));
		} catch (e) {
			lost = e;
			at.state[n] = ABSENT;
			this.wanted = [];
		}
		this.running--;
		if (!this.closed)
			lost ? this.on.lost(lost) : this.on.loaded();
		this.next();
	}

	put(level, n, bytes) {
		const at = this.level(level), from = n * this.size, cells = Math.min(this.size, at.n - from);
		if (bytes.length !== 2 * cells)
			throw new Error(`tile ${level}/${n}: ${bytes.length} bytes, not ${2 * cells}`);
		at.fill.set(bytes.subarray(0, cells), from);
		at.line.set(bytes.subarray(cells), from);
		at.state[n] = HERE;
	}

	// All of a level, for a snapshot that is kept longer than the server keeps it
	async all(level) {
		const at = this.level(level);
		for (let n = 0; n < at.state.length; n++)
			if (at.state[n] !== HERE)
				this.put(level, n, await this.load(level, n));
		this.on.loaded();
	}

	here(level, cell) {
		const { state } = this.levels[level];
		return Boolean(state) && state[Math.floor(cell / this.size)] === HERE;
	}

	// The level that says something of a cell: this one, else the next coarser one; -1: none does.
	best(level, cell) {
		for (let l = level; l <= this.last; l++)
			if (this.here(l, Math.floor(cell / 4 ** (l - level))))
				return l;
		return -1;
	}

	// Copies the fill bytes of n cells from one on.
	row(level, from, n, out) {
		for (let i = 0; i < n;) {
			const end = Math.min(n, (Math.floor((from + i) / this.size) + 1) * this.size - from);
			const l = this.best(level, from + i), part = 4 ** (l - level);
			if (l === level)
				out.set(this.levels[l].fill.subarray(from + i, from + end), i);
			else if (l < 0)
				out.fill(UNLOADED, i, end);
			else
				for (let k = i; k < end; k++)
					out[k] = this.levels[l].fill[Math.floor((from + k) / part)];
			i = end;
		}
	}

	// [fill, line] of a cell
	cell(level, cell) {
		const l = this.best(level, cell), at = Math.floor(cell / 4 ** (l - level));
		return l < 0 ? [UNLOADED, 0] : [this.levels[l].fill[at], this.levels[l].line[at]];
	}

	// Is something still to come?
	get pending() {
		return this.running > 0 || (this.wanted.length > 0 && !this.closed);
	}

	close() {
		this.closed = true;
		this.wanted = [];
	}
}
