// SPDX-License-Identifier: GPL-2.0-or-later
// matches.js - the rows that match the filter. It keeps the text typed before: a
// letter more looks only at the rows that matched until then, a letter less at
// none, and when rows come it looks at those only.

import { parse, matcher, narrows } from "./filter.js";

const KEPT = 32; // of what was typed; each takes a byte for each row

export class Matches {
	constructor(rows) {
		this.rows = rows;
		this.levels = []; // {q, words, kinds, version, hit}; each one's rows are among those of the one before
		this.looked = 0;  // rows whose text was looked at, in all
	}

	// By slot, 1 for rows that match, which the next call may change; null when all do.
	of(q) {
		const words = parse(q);
		if (!words.length)
			return null;
		const { levels } = this;
		let i = levels.findIndex((level) => level.q === q);
		if (i < 0) {
			while (levels.length && !narrows(words, levels[levels.length - 1].words))
				levels.pop();
			if (levels.length >= KEPT)
				levels.splice(1, 1);
			i = levels.push({ q, words, kinds: 0, version: -1, hit: new Uint8Array(0) }) - 1;
		}
		for (let k = 0; k <= i; k++)
			this.update(levels[k], levels[k - 1]);
		return levels[i].hit;
	}

	// Looks at the rows that a level doesn't know yet; base: the one before it, up to date.
	update(level, base) {
		const { rows } = this;
		const kinds = level.words.some((w) => w.kind) ? rows.kinds.loads : 0;
		const version = kinds === level.kinds ? level.version : -1; // other kinds: all rows are looked at
		if (version === rows.version)
			return;
		level.kinds = kinds;
		if (level.hit.length < rows.slots) {
			const more = new Uint8Array(rows.capacity);
			more.set(level.hit);
			level.hit = more;
		}
		const { used, filled } = rows, { hit } = level, wider = base?.hit;
		const match = matcher(rows, level.words);
		for (let slot = 0; slot < rows.slots; slot++) {
			if (!used[slot] || (wider && !wider[slot])) {
				hit[slot] = 0;
			} else if (filled[slot] > version) {
				this.looked++;
				hit[slot] = match(slot) ? 1 : 0;
			}
		}
		level.version = rows.version;
	}
}
