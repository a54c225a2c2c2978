// SPDX-License-Identifier: GPL-2.0-or-later
// curves.js - live bytes of locations over time, as the server kept them: those
// that have the most or change the most. What came since is in each row's own
// series; together they are what is drawn.

import { T, BYTES } from "./series.js";

// The median of the slopes between points half of the time apart: a jump between two points has none.
function middle(t, v) {
	const known = t.flatMap((_, i) => (v[i] === null ? [] : [i]));
	const half = known.length >> 1, slopes = new Float64Array(half);
	for (let k = 0; k < half; k++) {
		const i = known[k], j = known[k + known.length - half];
		slopes[k] = (v[j] - v[i]) / (t[j] - t[i]);
	}
	slopes.sort();
	return half ? (slopes[half >> 1] + slopes[(half - 1) >> 1]) / 2 : 0;
}

// {change, slope} of values at times; NaN, 0: fewer than two are known. The slope, in bytes a second, is
// that of the line that fits best, less the worse it fits: teeth have next to none. What was allocated
// when the process began, and stays, has none.
export function trend(t, v) {
	let n = 0, st = 0, sv = 0, stt = 0, stv = 0, svv = 0, first = NaN, last = NaN;
	for (let i = 0; i < t.length; i++) {
		if (v[i] === null)
			continue;
		if (!n)
			first = v[i];
		last = v[i];
		const x = t[i] - t[0], y = v[i] - first;
		n++;
		st += x;
		sv += y;
		stt += x * x;
		stv += x * y;
		svv += y * y;
	}
	const dt = n * stt - st * st, dv = n * svv - sv * sv, both = n * stv - st * sv;
	if (!(dt > 0 && dv > 0))
		return { change: n ? last - first : NaN, slope: 0 };
	const fit = both / dt * (both * both / dt / dv), robust = middle(t, v);
	return { change: last - first, slope: fit * robust <= 0 ? 0 : Math.abs(fit) < Math.abs(robust) ? fit : robust };
}

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
		for (const [id, location, , , some] of rows) {
			const v = filled(some, t);
			this.byId.set(id, { location, v, ...(some.length === 1 ? { change: 0, slope: 0 } : trend(t, v)) });
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
