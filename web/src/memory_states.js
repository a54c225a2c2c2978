// SPDX-License-Identifier: GPL-2.0-or-later
// memory_states.js - the bytes of the memory map's fill plane: a page's state in its low six bits, and
// two flags. Pure.

export const NONE = 0, EMPTY = 1, END = 2, RUBY = 3, SWAPPED = 4, UNKNOWN = 5, OTHER = 6;
export const UNLOADED = 7; // the server has no such state: its tile isn't here yet
export const LEAST_USED = 8, MOST_USED = 63;
export const SHARED = 64, HUGE = 128;

// As the style sheet names their colours; used pages go from "few" to "full".
export const STATES = ["none", "empty", "end", "ruby", "swapped", "unknown", "other", "unloaded"];

export const stateOf = (byte) => byte & 63;
export const isUsed = (byte) => (byte & 63) >= LEAST_USED;

// 0 to 1, of a used page
export const fillOf = (byte) => ((byte & 63) - LEAST_USED) / (MOST_USED - LEAST_USED);

// One cell of several: the state that most of those in memory have, used ones being one state, with their mean fill; and
// the line that most of the used ones have. The server makes its levels so; the page without a server makes its own.
export function coarser(fill, line, pages) {
	const n = Math.ceil(fill.length / pages), up = { fill: new Uint8Array(n), line: new Uint8Array(n) };
	const seen = new Uint32Array(LEAST_USED + 1), lines = new Uint32Array(256);
	for (let c = 0; c < n; c++) {
		seen.fill(0);
		lines.fill(0);
		let sum = 0, flags = 0, most = NONE, top = 0;
		for (let i = c * pages, end = Math.min(fill.length, i + pages); i < end; i++) {
			const s = stateOf(fill[i]);
			flags |= fill[i] & (SHARED | HUGE);
			seen[Math.min(s, LEAST_USED)]++;
			if (s >= LEAST_USED)
				sum += s;
			if (line[i])
				lines[line[i]]++;
		}
		for (let s = 1; s <= LEAST_USED; s++)
			if (seen[s] > (most ? seen[most] : 0))
				most = s;
		for (let l = 1; l < 256; l++)
			if (lines[l] > (top ? lines[top] : 0))
				top = l;
		up.fill[c] = flags | (most === LEAST_USED ? Math.round(sum / seen[LEAST_USED]) : most);
		up.line[c] = top;
	}
	return up;
}

// Of a bit for each page: a byte for each cell of 4^level pages, 1 if any of its pages has the bit
export function spread(bits, cells, level) {
	const lit = new Uint8Array(Math.ceil(cells / 4 ** level)), shift = 2 * level;
	for (let i = 0; i < bits.length; i++)
		if (bits[i])
			for (let b = 0; b < 8; b++)
				if (bits[i] >> b & 1 && i * 8 + b < cells)
					lit[(i * 8 + b) >>> shift] = 1;
	return lit;
}
