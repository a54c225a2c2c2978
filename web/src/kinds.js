// SPDX-License-Identifier: GPL-2.0-or-later
// kinds.js - the kinds of each row's memory, as the server estimates them from samples: shares of a
// row by kind, the largest first. The server says it every ten seconds, the rows' numbers come by the
// stream: so shares are kept, not bytes.

const UNKNOWN = "(no stack)";

export class Kinds {
	constructor() {
		this.clear();
	}

	clear() {
		this.byId = new Map(); // id -> {samples, parts: [[text, share of live, share of total], ...]}
		this.texts = [];       // of the kinds, in order
		this.loaded = false;
		this.loads = (this.loads || 0) + 1; // changes with what is known
	}

	// /kinds.json
	load({ kinds, rows }) {
		this.clear();
		this.loaded = true;
		for (const [id, samples, ...numbers] of rows) {
			const parts = [];
			let live = 0, total = 0;
			for (let i = 0; i < numbers.length; i += 3) {
				parts.push([kinds[numbers[i]], numbers[i + 1], numbers[i + 2]]);
				live += numbers[i + 1];
				total += numbers[i + 2];
			}
			for (const part of parts) { // without live bytes the others say what it is
				part[2] = total ? part[2] / total : live ? part[1] / live : 1 / parts.length;
				part[1] = live ? part[1] / live : part[2];
			}
			parts.sort((a, b) => b[1] - a[1]);
			this.byId.set(id, { samples, parts });
		}
		this.texts = [...new Set(kinds)].sort();
		this.places = new Map(this.texts.map((text, i) => [text, i]));
	}

	// No kind of any row is known, as far as was asked
	get none() {
		return this.loaded && !this.byId.size;
	}

	// [[text, share of live, share of total], ...]: at least one
	parts(id) {
		return this.byId.get(id)?.parts ?? [[UNKNOWN, 1, 1]];
	}

	samples(id) {
		return this.byId.get(id)?.samples ?? 0;
	}

	// The largest kind's text
	text(id) {
		return this.parts(id)[0][0];
	}

	// The largest kind of several rows: its number as key() has it; weights: [id, live bytes, total bytes]
	keyOf(weights) {
		const by = weights.some(([, live]) => live > 0) ? 1 : 2;
		const sums = new Map();
		let all = 0;
		for (const w of weights) {
			all += w[by];
			for (const part of this.parts(w[0]))
				sums.set(part[0], (sums.get(part[0]) || 0) + part[by] * w[by]);
		}
		sums.delete(UNKNOWN);
		const [text, sum] = [...sums].reduce((most, one) => (one[1] > most[1] ? one : most), [null, 0]);
		return this.places?.has(text) ? this.texts.length - 1 - this.places.get(text) + Math.min(1, sum / all) : NaN;
	}

	// A number that is sorted by: kinds in order of their texts, and the largest share first; NaN: not known
	key(id) {
		const known = this.byId.get(id)?.parts[0];
		return known ? this.texts.length - 1 - this.places.get(known[0]) + known[1] : NaN;
	}

	// The same of a row that is all of one kind
	keyFor(text) {
		return this.places?.has(text) && text !== UNKNOWN ? this.texts.length - this.places.get(text) : NaN;
	}

	// A key as it is shown: ["string", "92 %"]
	shown(key) {
		if (!(key === key))
			return ["\u2013", ""];
		const place = Math.ceil(key) - 1;
		return [this.texts[this.texts.length - 1 - place] ?? "\u2013", `${Math.round((key - place) * 100)}\u00a0%`];
	}
}
