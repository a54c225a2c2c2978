// SPDX-License-Identifier: GPL-2.0-or-later
// replay_curves.js - curves over seconds, [[seconds, bytes], ...]: their values, which of them is near, and where the
// labels at their ends are. Pure functions.

// The value at a time, on a straight line between two points; null before the first and after the last
export function valueAt(curve, t) {
	let low = 0, high = curve.length - 1;
	if (high < 0 || t < curve[0][0] || t > curve[high][0])
		return null;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (curve[middle][0] <= t)
			low = middle;
		else
			high = middle;
	}
	const [from, a] = curve[low], [to, b] = curve[high];
	return t >= to ? b : t <= from || to === from ? a : a + (b - a) * (t - from) / (to - from);
}

// Where a curve's label belongs: the median of its last tenth. The last values themselves fall to 0 where processes end.
export function endOf(curve) {
	const last = curve.slice(-Math.ceil(curve.length / 10)).map(([, v]) => v).sort((a, b) => a - b);
	return last.length ? last[last.length >> 1] : 0;
}

// Columns for a plot: times, then the values of each curve at these. All times that a curve has; if they
// are more than `most`, so many evenly spaced ones.
export function align(curves, most = 4000) {
	let times = [...new Set(curves.flatMap((c) => c.map(([t]) => t)))].sort((a, b) => a - b);
	if (times.length > most) {
		const first = times[0], step = (times[times.length - 1] - first) / (most - 1);
		times = Array.from({ length: most }, (_, i) => first + i * step);
	}
	return [times, ...curves.map((c) => times.map((t) => valueAt(c, t)))];
}

// Tops of labels `height` apart or more, as near as can be to where they are wanted, between low and high.
// If there isn't room for all of them they go on below `high`.
export function spread(wanted, height, low, high) {
	const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
	const runs = []; // labels that touch each other: {n, at: the top of the first}
	for (const i of order) {
		runs.push({ n: 1, at: wanted[i] });
		while (runs.length > 1 && runs[runs.length - 2].at + runs[runs.length - 2].n * height > runs[runs.length - 1].at) {
			const b = runs.pop(), a = runs.pop(), n = a.n + b.n;
			runs.push({ n, at: (a.at * a.n + (b.at - a.n * height) * b.n) / n });
		}
	}
	const tops = [], at = runs.flatMap((run) => Array.from({ length: run.n }, (_, i) => run.at + i * height));
	for (let i = at.length - 1, most = high - height; i >= 0; most = at[i--] - height)
		at[i] = Math.min(at[i], most);
	for (let i = 0, least = low; i < at.length; least = at[i++] + height)
		at[i] = Math.max(at[i], least);
	order.forEach((i, place) => { tops[i] = at[place]; });
	return tops;
}

// Of positions (null: none), the index of the one that is nearest to y; -1: none within `reach`
export function nearest(positions, y, reach) {
	let best = -1;
	positions.forEach((p, i) => {
		if (p !== null && Math.abs(p - y) <= (best < 0 ? reach : Math.abs(positions[best] - y)))
			best = i;
	});
	return best;
}

// Steps between two labels of the axis, in seconds
export const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

// "0.25 s", "2 m 30 s", "3 h 5 m": as exact as `step`
export function secondsLabel(s, step) {
	if (step < 1)
		return `${s.toFixed(Math.ceil(-Math.log10(step) - 1e-9))}\u00a0s`;
	const n = Math.round(s), h = Math.floor(n / 3600), m = Math.floor(n / 60) % 60;
	const parts = [[h, "h"], [m, "m"], [n % 60, "s"]].filter(([v]) => v);
	return parts.map(([v, unit]) => `${v}\u00a0${unit}`).join(" ") || "0";
}

const LETTER = 6; // pixels, about

// Those of an axis from 0 to max that is `width` pixels long, with `room` behind it; "" where one would be cut off
export const secondsLabels = (splits, step, max, width, room) => splits.map((s) => {
	const label = secondsLabel(s, step);
	return (max - s) / max * width + room < label.length * LETTER / 2 ? "" : label;
});
