// SPDX-License-Identifier: GPL-2.0-or-later
// curves.js - live bytes of locations over time, as the server kept them: those
// that have the most or change the most. Newer values are in each row's own
// series; both together are drawn.

import { T, BYTES } from "./series.js";

// A value at each time: the last one that the server told holds.
export const filled = (v, t) => (v.length < t.length ? [...v, ...Array(t.length - v.length).fill(v[v.length - 1])] : v);

export class Curves {
	constructor() {
		this.clear();
	}

	clear() {
		this.t = [];
		this.from = this.to = NaN;
		this.byId = new Map();
	}

	// /history/locations.json, as an object
	load({ from, to, t, rows }) {
		this.clear();
		Object.assign(this, { from, to, t });
		for (const [id, location, , , some, rank] of rows) {
			const v = filled(some, t), first = v.find((x) => x !== null);
			this.byId.set(id, { location, v, change: v[v.length - 1] - (first ?? NaN), rank: rank ?? NaN });
		}
	}

	// The curve of a row, or undefined
	of(id, location) {
		const curve = this.byId.get(id);
		return curve?.location === location ? curve : undefined;
	}

	get end() {
		return this.t.length ? this.t[this.t.length - 1] : -Infinity;
	}

	// Are these the curves of that time? The server may round it.
	covers(from, to) {
		const slack = Math.max(60, (to - from) * 0.05);
		return Math.abs(this.from - from) <= slack && Math.abs(this.to - to) <= slack;
	}

	// Live bytes at out.length evenly spaced times: the server's as far as they go, then the series
	sample(curve, series, t0, t1, out) {
		const { t, end } = this, n = out.length;
		let p = -1, q = -1;
		for (let i = 0; i < n; i++) {
			const at = n > 1 ? t0 + (t1 - t0) * i / (n - 1) : t1;
			while (q + 1 < series.n && series.at(q + 1, T) <= at)
				q++;
			while (p + 1 < t.length && t[p + 1] <= at)
				p++;
			const known = curve && p >= 0 ? curve.v[p] ?? NaN : NaN;
			const own = q >= 0 ? series.at(q, BYTES) : NaN;
			out[i] = (at <= end && known === known) || own !== own ? known : own;
		}
		return out;
	}
}

// {t, values} for a plot of one location: the server's points up to where they end, then the series'
export function joined({ t, v }, series, t0, now) {
	const out = { t: [], values: [] };
	const add = (at, value) => {
		out.t.push(at);
		out.values.push(value);
	};
	t.forEach((at, i) => at >= t0 && at <= now && add(at, v[Math.min(i, v.length - 1)]));
	const end = t.length ? t[t.length - 1] : -Infinity;
	const own = series ? series.column(BYTES, Math.max(t0, end), now) : { t: [], values: [] };
	own.t.forEach((at, i) => at > end && at <= now && add(at, own.values[i]));
	return out;
}
