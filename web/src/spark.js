// SPDX-License-Identifier: GPL-2.0-or-later
// spark.js - a row's small curve as the path of an SVG. The time axis is the
// same for all rows; the height is each row's own, from its least to its most,
// but a change of less than a hundredth of the value stays small.

import { T, BYTES } from "./series.js";

export const WIDTH = 96, HEIGHT = 20;
const POINTS = 48;

// Live bytes at POINTS times from t0 to t1; what held before the first point is the first's.
export function sample(series, t0, t1, n = POINTS) {
	const out = new Float64Array(n);
	if (series.n < 2) // most rows
		return out.fill(series.n ? series.at(0, BYTES) : 0);
	let p = -1;
	for (let i = 0; i < n; i++) {
		const t = t0 + (t1 - t0) * i / (n - 1);
		while (p + 1 < series.n && series.at(p + 1, T) <= t)
			p++;
		out[i] = p >= 0 ? series.at(p, BYTES) : series.n ? series.at(0, BYTES) : 0;
	}
	return out;
}

// {line, area} of some values, evenly spaced, or null when there are none
export function paths(values, width = WIDTH, height = HEIGHT) {
	if (!values.length)
		return null;
	let min = Infinity, max = -Infinity;
	for (const v of values) {
		min = Math.min(min, v);
		max = Math.max(max, v);
	}
	const span = Math.max(max - min, max * 0.01, 1);
	const base = max - min < span ? (max + min) / 2 - span / 2 : min;
	const step = width / Math.max(values.length - 1, 1);
	let line = "";
	for (let i = 0; i < values.length; i++) {
		if (i && values[i] === values[i - 1] && values[i] === values[i + 1])
			continue; // on a level line
		const y = height - 1.5 - (values[i] - base) / span * (height - 3);
		line += `${i ? "L" : "M"}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
	}
	return { line, area: `${line}L${width} ${height}L0 ${height}Z` };
}

// 1: up, -1: down, 0: about the same at the end as at the start
export function direction(values) {
	const a = values[0], b = values[values.length - 1];
	const d = b - a;
	return Math.abs(d) <= Math.max(Math.abs(a), Math.abs(b)) * 0.01 ? 0 : Math.sign(d);
}
