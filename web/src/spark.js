// SPDX-License-Identifier: GPL-2.0-or-later
// spark.js - a row's small curve as the path of an SVG. The time axis is the
// same for all rows; the height is each row's own, from its least to its most,
// but a change of less than a hundredth of the value stays small, and so does one of
// some bytes: the server rounds what it keeps to 64 bytes, the last value is exact.

export const WIDTH = 96, HEIGHT = 20, POINTS = 48;

const ROUNDED = 64;

// Where it begins to be known: NaN comes before.
const begin = (values) => {
	const i = values.findIndex((v) => v === v);
	return i < 0 ? values.length : i;
};

// {line, area} of some values, evenly spaced, or null when none is known
export function paths(values, width = WIDTH, height = HEIGHT) {
	const first = begin(values);
	if (first === values.length)
		return null;
	let min = Infinity, max = -Infinity;
	for (let i = first; i < values.length; i++) {
		min = Math.min(min, values[i]);
		max = Math.max(max, values[i]);
	}
	const span = Math.max(max - min, max * 0.01, 4 * ROUNDED);
	const base = max - min < span ? (max + min) / 2 - span / 2 : min;
	const step = width / Math.max(values.length - 1, 1);
	let line = "";
	for (let i = first; i < values.length; i++) {
		if (i > first && values[i] === values[i - 1] && values[i] === values[i + 1])
			continue; // on a level line
		const y = height - 1.5 - (values[i] - base) / span * (height - 3);
		line += `${i > first ? "L" : "M"}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
	}
	return { line, area: `${line}L${width} ${height}L${(first * step).toFixed(first ? 1 : 0)} ${height}Z` };
}

// 1: up, -1: down, 0: about the same at the end as at the start
export function direction(values) {
	const a = values[begin(values)], b = values[values.length - 1];
	const d = b - a || 0;
	return Math.abs(d) <= Math.max(Math.max(Math.abs(a), Math.abs(b)) * 0.01, ROUNDED) ? 0 : Math.sign(d);
}
