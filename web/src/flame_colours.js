// SPDX-License-Identifier: GPL-2.0-or-later
// flame_colours.js - a node's colour, one of the style sheet's: by its group, or in
// the view of growth by how much it grew. Pure, but for reading them.

import { NATIVE, SPECIAL } from "./flame_tree.js";

export const HUES = 16;
const STEPS = 4;

// A group has its colour in every tree, also when its version changes. Ruby itself is nearly
// everywhere: its colour is nobody else's.
export function hue(group) {
	if (/^(lib)?ruby([ .-]|$)/.test(group))
		return HUES;
	let h = 2166136261;
	for (const c of group.replace(/-\d[\w.]*(-[a-z].*)?$/, ""))
		h = Math.imul(h ^ c.codePointAt(0), 16777619);
	h ^= h >>> 15;
	return (h >>> 0) % HUES;
}

// Names of the colours, by number
export const NAMES = [
	...Array.from({ length: HUES + 1 }, (_, i) => `--flame-${i}`),
	...Array.from({ length: STEPS }, (_, i) => `--flame-more-${i + 1}`), ...Array.from({ length: STEPS }, (_, i) => `--flame-less-${i + 1}`),
	"--flame-same", "--flame-special", "--flame-root", "--flame-crumb", "--flame-hit", "--flame-faded",
	"--flame-text", "--flame-hit-text", "--flame-faded-text", "--flame-stripe", "--flame-edge", "--bg",
];
export const INDEX = Object.fromEntries(NAMES.map((name, i) => [name.replace(/^--(flame-)?/, ""), i]));

// Grown or shrunk by a thousandth of all: not to be told from nothing
export function step(value, all) {
	const part = all > 0 ? value / all : 0, size = Math.abs(part);
	if (size < 0.001)
		return INDEX.same;
	const n = size > 0.3 ? 4 : size > 0.1 ? 3 : size > 0.02 ? 2 : 1;
	return INDEX[`${part > 0 ? "more" : "less"}-${n}`];
}

// The colour of each frame, by number, and which are native, once for a tree
export function colourFrames(tree) {
	const fill = new Uint8Array(tree.frames.length), native = new Uint8Array(tree.frames.length);
	const hues = tree.groups.map(hue);
	tree.frames.forEach(([, , , group, kind], f) => {
		fill[f] = kind === SPECIAL || group < 0 ? INDEX.special : hues[group];
		native[f] = kind === NATIVE ? 1 : 0;
	});
	return { fill, native };
}

export function readColours(node) {
	const style = getComputedStyle(node);
	return NAMES.map((name) => style.getPropertyValue(name).trim() || "gray");
}
