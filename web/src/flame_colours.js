// SPDX-License-Identifier: GPL-2.0-or-later
// flame_colours.js - a node's colour: one of the style sheet's, by its group, or in the view of
// growth by how much it grew; and a shade of it, so that no neighbour has the same. Pure, but for reading them.

import { NATIVE, SPECIAL, describe, stir } from "./flame_tree.js";

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

/* --- shades --------------------------------------------------------------------------------- */

export const SHADES = 4;
const SHADED = INDEX.root; // the colours before it have shades
const SCALE = [INDEX["more-1"], INDEX.special]; // from, to (exclusive): here the colour says how much
// How much of the ground (or below 0: of the text) is in each shade. On the scale none reaches the next step.
const GROUND = [0, 0.25, 0.5, -0.12], GROUND_OF_SCALE = [0, 0.06, 0.12, -0.02];

// The number of a colour's shade; 0 is the colour itself.
export const shaded = (colour, shade) => (shade && colour < SHADED ? NAMES.length + (shade - 1) * SHADED + colour : colour);

// The colour of each node, by number. base(node) is its colour without a shade. A node differs from its caller
// and from the two before it in its row: one may be too narrow to be seen. A frame has its own shade wherever these
// leave it free. So few nodes change theirs when others grow.
export function shadeNodes(tree, base) {
	const { n, depth, parent, frame } = tree, fill = new Uint8Array(n);
	const own = tree.frames.map((_, f) => (stir(2166136261, describe(tree, f).name) >>> 7) % SHADES);
	const before = [], last = []; // by row
	fill[0] = base(0);
	for (let i = 1; i < n; i++) {
		const d = depth[i], taken = [fill[parent[i]], before[d], last[d]];
		const colour = base(i);
		let shade = own[frame[i]];
		while (taken.includes(shaded(colour, shade)))
			shade = (shade + 1) % SHADES;
		before[d] = last[d];
		last[d] = fill[i] = shaded(colour, shade);
	}
	return fill;
}

const parts = (colour) => colour.replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3").match(/^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i)?.slice(1).map((c) => parseInt(c, 16));

// The system's colours have names instead, and no shades: edges tell nodes apart there.
function mix(colour, other, part) {
	const [a, b] = [parts(colour), parts(other)];
	return a && b ? `#${a.map((v, i) => Math.round(v + (b[i] - v) * part).toString(16).padStart(2, "0")).join("")}` : colour;
}

// The colours and then all their shades, as shaded() numbers them
export function withShades(colours) {
	const all = [...colours];
	for (let shade = 1; shade < SHADES; shade++)
		for (let i = 0; i < SHADED; i++) {
			const part = (i >= SCALE[0] && i < SCALE[1] ? GROUND_OF_SCALE : GROUND)[shade];
			all.push(mix(colours[i], colours[part < 0 ? INDEX.text : INDEX.bg], Math.abs(part)));
		}
	return all;
}

export function readColours(node) {
	const style = getComputedStyle(node);
	return withShades(NAMES.map((name) => style.getPropertyValue(name).trim() || "gray"));
}
