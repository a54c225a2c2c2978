// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a replay: values between points, columns for the plot, labels of curves and of the axis.
import test from "node:test";
import assert from "node:assert/strict";
import { align, endOf, nearest, secondsLabel, secondsLabels, spread, STEPS, valueAt } from "../../web/src/replay_curves.js";

test("between two points a curve is straight, and nothing before and after it", () => {
	const curve = [[1, 10], [2, 20], [4, 0]];
	assert.deepEqual([0.9, 1, 1.5, 2, 3, 4, 4.1].map((t) => valueAt(curve, t)), [null, 10, 15, 20, 10, 0, null]);
	assert.equal(valueAt([], 1), null);
	assert.equal(valueAt([[3, 7]], 3), 7);
	assert.equal(valueAt([[1, 5], [1, 6], [2, 6]], 1), 6, "two points of one time");
});

test("curves of different times are columns of all times", () => {
	assert.deepEqual(align([[[0, 0], [2, 20]], [[1, 5], [3, 7]]]), [[0, 1, 2, 3], [0, 10, 20, null], [null, 5, 6, 7]]);
	assert.deepEqual(align([[], []]), [[], [], []]);
});

test("a long curve is thinned evenly, and keeps its ends", () => {
	const [t, v] = align([Array.from({ length: 10001 }, (_, i) => [i / 10, i])], 101);
	assert.equal(t.length, 101);
	assert.deepEqual([t[0], t[50], t[100]].map(Math.round), [0, 500, 1000]);
	assert.deepEqual([v[0], v[50]].map(Math.round), [0, 5000]);
});

test("labels never overlap, and stay within the plot", () => {
	let seed = 1;
	const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
	for (let round = 0; round < 300; round++) {
		const n = 1 + Math.floor(random() * 15), wanted = Array.from({ length: n }, () => Math.round(random() * 420 - 40));
		const tops = spread(wanted, 18, 0, 360), sorted = [...tops].sort((a, b) => a - b);
		sorted.forEach((y, i) => assert.ok(i === 0 || y - sorted[i - 1] >= 18 - 1e-9, `${wanted}: ${tops}`));
		assert.ok(sorted[0] >= 0 && sorted[n - 1] + 18 <= 360 + 1e-9, `${wanted}: ${tops}`);
		for (let i = 0; i < n; i++)
			for (let k = 0; k < n; k++)
				assert.ok(wanted[i] >= wanted[k] || tops[i] < tops[k], "in the order of the curves");
	}
});

test("labels with room are where they are wanted, and others share the shift", () => {
	assert.deepEqual(spread([200, 50, 100], 18, 0, 360), [200, 50, 100]);
	assert.deepEqual(spread([100, 100], 18, 0, 360), [91, 109]);
	assert.deepEqual(spread([100, 104, 108], 20, 0, 360), [84, 104, 124]);
	assert.deepEqual(spread([0, 0, 0], 20, 0, 40), [0, 20, 40], "more than there is room for: downwards");
	assert.deepEqual(spread([], 18, 0, 360), []);
});

test("the nearest curve within reach", () => {
	assert.equal(nearest([10, 50, null, 61], 55, 24), 1);
	assert.equal(nearest([10, 50, null, 61], 56, 24), 3);
	assert.equal(nearest([10, 50], 100, 24), -1);
	assert.equal(nearest([null], 0, 24), -1);
});

test("labels of the axis are as exact as its steps, and each step's are different", () => {
	const plain = (s, step) => secondsLabel(s, step).replace(/\u00a0/g, " ");
	assert.deepEqual([[0, 30], [30, 30], [90, 30], [3600, 600], [11100, 300]].map(([s, step]) => plain(s, step)), ["0", "30 s", "1 m 30 s", "1 h", "3 h 5 m"]);
	assert.deepEqual([[0.25, 0.05], [0.5, 0.1], [0.002, 0.002]].map(([s, step]) => plain(s, step)), ["0.25 s", "0.5 s", "0.002 s"]);
	for (const step of STEPS)
		assert.equal(new Set(Array.from({ length: 20 }, (_, i) => secondsLabel(i * step, step))).size, 20, `${step}`);
});

test("a label of the axis that would be cut off is left out", () => {
	assert.deepEqual(secondsLabels([0, 0.2, 0.4], 0.1, 0.41, 400, 6).map(Boolean), [true, true, true]);
	assert.deepEqual(secondsLabels([0, 0.2, 0.4], 0.1, 0.4, 400, 6).map(Boolean), [true, true, false]);
});

test("a label is beside the last tenth of its curve, not where processes ended", () => {
	const curve = Array.from({ length: 100 }, (_, i) => [i, 500 + i]);
	assert.equal(endOf([...curve, [100, 3], [101, 0]]), 594);
	assert.equal(endOf([[1, 7]]), 7);
	assert.equal(endOf([]), 0);
});
