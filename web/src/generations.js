// SPDX-License-Identifier: GPL-2.0-or-later
// generations.js - when a generation was, by the clock: "GC 513" says little to
// people. Between what the stream told, and from the start up to there, as if
// collections came evenly: near enough for "about".

const MAX = 512;

export class Generations {
	constructor() {
		this.t = [0];
		this.g = [0];
	}

	// At the time t (uptime) the generation was g.
	note(t, g) {
		const n = this.t.length;
		if (typeof g !== "number" || t <= this.t[n - 1] || g < this.g[n - 1])
			return;
		if (n >= MAX) { // every second one goes, but for the start
			this.t = this.t.filter((_, i) => i % 2 === 0);
			this.g = this.g.filter((_, i) => i % 2 === 0);
		}
		this.t.push(t);
		this.g.push(g);
	}

	// The time (uptime) of a generation, or null where nothing is known yet
	timeOf(g) {
		const { t, g: all } = this, last = all.length - 1;
		if (!last)
			return null;
		let i = 1;
		while (i < last && all[i] < g)
			i++;
		const part = all[i] > all[i - 1] ? (Math.min(g, all[i]) - all[i - 1]) / (all[i] - all[i - 1]) : 0;
		return t[i - 1] + part * (t[i] - t[i - 1]);
	}

	// How many seconds ago it was so many generations ago, or null
	ago(age) {
		const last = this.t.length - 1;
		const at = this.timeOf(Math.max(0, this.g[last] - age));
		return at === null ? null : this.t[last] - at;
	}
}
