// SPDX-License-Identifier: GPL-2.0-or-later
// flame_layout.js - where the nodes of a tree are: from 0 to 1 sideways, and in rows by
// their depth. Made once for a tree; zooming only looks at a part of it. Pure functions.

export const LEAST = 0.5; // px: a narrower frame is drawn together with its neighbours

// {x0, x1} by node; rows: the nodes by row, from left to right, row d from rowAt[d] to rowAt[d + 1].
export function layOut(tree) {
	const { n, depth, parent, width, below, deepest } = tree;
	const x0 = new Float64Array(n), x1 = new Float64Array(n), next = new Float64Array(n), scale = new Float64Array(n);
	const set = (i, from, to) => {
		x0[i] = next[i] = from;
		x1[i] = to;
		const all = Math.max(width[i], below[i]);
		scale[i] = all > 0 ? (to - from) / all : 0;
	};
	set(0, 0, 1);
	for (let i = 1; i < n; i++) {
		const p = parent[i];
		set(i, next[p], Math.min(next[p] + width[i] * scale[p], x1[p]));
		next[p] = x1[i];
	}
	const rows = new Int32Array(n), rowAt = new Int32Array(deepest + 2);
	for (let i = 0; i < n; i++)
		rowAt[depth[i] + 1]++;
	for (let d = 0; d <= deepest; d++)
		rowAt[d + 1] += rowAt[d];
	const at = rowAt.slice();
	for (let i = 0; i < n; i++)
		rows[at[depth[i]]++] = i;
	return { x0, x1, rows, rowAt, deepest };
}

// The first place from `low` to `high` in a row whose node ends behind x
function endsBehind({ rows, x1 }, low, high, x) {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (x1[rows[middle]] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// Calls paint(node, from, to) with the pixels of each node of a row that can be seen when `zoom` takes all the
// width. Those too narrow to be seen alone come as node -1, as many as lie together: what this takes depends on
// the pixels, not on the number of nodes.
export function visibleIn(layout, zoom, width, row, paint) {
	const { rows, rowAt, x0, x1 } = layout;
	const from = x0[zoom], to = x1[zoom], perPixel = (to - from) / width;
	if (row > layout.deepest || !(perPixel > 0))
		return;
	const px = (x) => Math.min(Math.max((x - from) / perPixel, 0), width);
	const last = rowAt[row + 1];
	let crumbs = -1, crumbsEnd = -1;
	const flush = () => {
		if (crumbs >= 0 && crumbsEnd - crumbs >= LEAST)
			paint(-1, crumbs, crumbsEnd);
		crumbs = -1;
	};
	let k = endsBehind(layout, rowAt[row], last, from);
	while (k < last && x0[rows[k]] < to) {
		const node = rows[k], a = px(x0[node]), b = px(x1[node]);
		if (b - a >= LEAST) {
			flush();
			paint(node, a, b);
			k++;
			continue;
		}
		if (crumbs >= 0 && a - crumbsEnd >= LEAST)
			flush();
		if (crumbs < 0)
			crumbs = a;
		const next = Math.max(endsBehind(layout, k, last, from + (a + LEAST) * perPixel), k + 1);
		crumbsEnd = Math.max(b, px(x1[rows[next - 1]]));
		k = next;
	}
	flush();
}

// The node at a pixel of a row, or -1
export function hit(layout, zoom, width, row, x) {
	const { rows, rowAt, x0, x1, deepest } = layout;
	if (!(row >= 0 && row <= deepest && x >= 0 && x < width))
		return -1;
	const at = x0[zoom] + x / width * (x1[zoom] - x0[zoom]);
	const k = endsBehind(layout, rowAt[row], rowAt[row + 1], at);
	return k < rowAt[row + 1] && x0[rows[k]] <= at ? rows[k] : -1;
}

/* --- from a node to those beside it ------------------------------------------------------ */

function before(tree, node) {
	let i = tree.parent[node] + 1;
	if (i >= node)
		return node;
	while (tree.end[i] < node)
		i = tree.end[i];
	return i;
}

function lastChild(tree, node) {
	let i = node + 1;
	while (tree.end[i] < tree.end[node])
		i = tree.end[i];
	return i;
}

const MOVES = {
	ArrowUp: (tree, node) => tree.parent[node],
	ArrowDown: (tree, node) => (tree.end[node] > node + 1 ? node + 1 : node),
	ArrowLeft: before,
	ArrowRight: (tree, node) => (tree.end[node] < tree.end[tree.parent[node]] ? tree.end[node] : node),
	Home: (tree, node) => tree.parent[node] + 1,
	End: (tree, node) => lastChild(tree, tree.parent[node]),
};

// The node to which a key leads from another one, maybe the same; undefined: no such key.
export function move(tree, node, key) {
	const to = Object.hasOwn(MOVES, key) ? MOVES[key] : undefined;
	if (!to)
		return undefined;
	return node === 0 && key !== "ArrowDown" ? 0 : to(tree, node);
}

// Is a node seen while `zoom` takes all the width? It is below, or above.
export const within = (tree, zoom, node) => (node >= zoom && node < tree.end[zoom]) || (zoom >= node && zoom < tree.end[node]);
