// SPDX-License-Identifier: GPL-2.0-or-later
// tree.js - live bytes by gem, file and line, laid out as a treemap. Small ones
// are put together as "others": a page has room for some dozens.

import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";

const LEVELS = ["gem", "file", "line"];

// zoom: [] all gems, [gem] one gem's files, [gem, file] its lines.
// Returns {name, bytes, growth, children: [{name, level, bytes, growth, slot, children}]},
// two levels deep, most bytes first.
export function tree(rows, slots, zoom, most = 60) {
	const depth = Math.min(zoom.length, 2);
	const inside = slots.filter((s) => rows.liveBytes[s] > 0 && zoom.every((name, i) => rows.name(s, LEVELS[i]) === name));
	const node = (name, level) => ({ name, level, bytes: 0, growth: 0, count: 0, slot: -1, children: new Map() });
	const root = node(zoom[depth - 1] ?? "all", "all");
	const keep = (at, name, level, slot) => {
		let child = at.children.get(name);
		if (!child)
			at.children.set(name, child = node(name, level));
		child.bytes += rows.liveBytes[slot];
		child.growth += rows.grown[slot] || 0;
		child.count++;
		child.slot = slot;
		return child;
	};
	for (const slot of inside) {
		root.bytes += rows.liveBytes[slot];
		root.growth += rows.grown[slot] || 0;
		root.count++;
		let at = root;
		for (let level = depth; level < Math.min(depth + 2, 3); level++)
			at = keep(at, level === 2 ? rows.location[slot] : rows.name(slot, LEVELS[level]), LEVELS[level], slot);
	}
	return few(root, most, 12);
}

function few(node, most, mostBelow) {
	const all = [...node.children.values()].sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
	const floor = node.bytes / 2000; // nothing that couldn't be seen
	const kept = all.filter((c, i) => i < most && c.bytes >= floor);
	const rest = all.slice(kept.length);
	const children = kept.map((c) => few(c, mostBelow, 0));
	if (rest.length && mostBelow + most > 0)
		children.push({ name: `${rest.length} others`, level: "others", slot: -1, children: [], count: rest.length,
			bytes: rest.reduce((n, c) => n + c.bytes, 0), growth: rest.reduce((n, c) => n + c.growth, 0) });
	return { ...node, children };
}

// The tree's nodes as rectangles: [{data, depth, x0, y0, x1, y1}], parents first
export function layout(root, width, height) {
	const h = hierarchy(root).sum((d) => (d.children.length ? 0 : d.bytes));
	treemap().tile(treemapSquarify.ratio(1.4)).size([width, height]).round(true)
		// paddingOuter sets all sides: the top comes after it, for the parent's name
		.paddingInner(2).paddingOuter((n) => (n.depth === 1 ? 2 : 0)).paddingTop((n) => (n.depth === 1 && n.children ? 20 : 0))(h);
	return h.descendants().filter((n) => n.depth > 0).map(({ data, depth, x0, y0, x1, y1 }) => ({ data, depth, x0, y0, x1, y1 }));
}
