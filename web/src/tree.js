// SPDX-License-Identifier: GPL-2.0-or-later
// tree.js - live bytes by line, file, folder, gem or kind, laid out as a treemap. Small ones
// are put together as "others": a page has room for some dozens.

import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";

// What is in an area of each group, from the outside
const LEVELS = { line: ["line"], file: ["file", "line"], dir: ["dir", "file", "line"], gem: ["gem", "file", "line"], kind: ["kind", "line"] };

// [[name, share of the row], ...] of a row at a level: one, but for kinds
function names(rows, slot, level) {
	if (level === "kind")
		return rows.kinds.parts(rows.id[slot]).map(([name, share]) => [name, share]);
	return [[level === "line" ? rows.location[slot] : rows.name(slot, level), 1]];
}

// group: what the outer areas are; zoom: names of the areas that were looked into: [] all gems, [gem] one gem's
// files, [gem, file] its lines. Returns {name, bytes, growth, children: [{name, level, path, bytes, growth,
// children}]}, two levels deep, most bytes first. path: the zoom that looks into it.
export function tree(rows, slots, group, zoom, most = 60) {
	const levels = LEVELS[group], depth = Math.min(zoom.length, levels.length - 1);
	const node = (name, level, path) => ({ name, level, path, bytes: 0, growth: 0, count: 0, children: new Map() });
	const root = node(zoom[depth - 1] ?? "all", "all", zoom.slice(0, depth));
	const add = (at, slot, part) => {
		at.bytes += rows.liveBytes[slot] * part;
		at.growth += (rows.grown[slot] || 0) * part;
		at.count++;
	};
	const put = (at, slot, part, level) => {
		add(at, slot, part);
		if (level === Math.min(depth + 2, levels.length))
			return;
		for (const [name, share] of names(rows, slot, levels[level])) {
			if (!share)
				continue;
			if (!at.children.has(name))
				at.children.set(name, node(name, levels[level], [...at.path, name]));
			put(at.children.get(name), slot, part * share, level + 1);
		}
	};
	for (const slot of slots) {
		const part = zoom.slice(0, depth).reduce((p, name, i) => p * (names(rows, slot, levels[i]).find(([n]) => n === name)?.[1] ?? 0), 1);
		if (part && rows.liveBytes[slot] > 0)
			put(root, slot, part, depth);
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
		children.push({ name: `${rest.length} others`, level: "others", path: [], children: [], count: rest.length,
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
