// SPDX-License-Identifier: GPL-2.0-or-later
// flame_draw.js - paints what can be seen of a tree on a canvas.

import { visibleIn } from "./flame_layout.js";
import { INDEX, colourFrames, shadeNodes, step } from "./flame_colours.js";
import { nodeTitle, signed } from "./flame_words.js";

export const ROW = 20;
const PAD = 4, FONT = "12px system-ui, sans-serif", LEAST_TEXT = 24, DOTS = "\u2026";
const NONE = "rgba(0, 0, 0, 0)"; // as a canvas says "transparent"

export class Painter {
	constructor(context) {
		this.context = context;
	}

	// Another tree: the last one's texts are dropped.
	take(tree, layout) {
		const n = tree.frames.length;
		const { fill, native } = colourFrames(tree);
		const base = tree.by === "growth" ? (node) => step(tree.value[node], tree.width[0]) : (node) => (node ? fill[tree.frame[node]] : INDEX.root);
		Object.assign(this, { tree, layout, fills: shadeNodes(tree, base), native, texts: new Array(n), wide: new Float32Array(n) });
	}

	// view: {zoom, width, height, top (px scrolled), dpr, colours, hit: 1 by frame, or null, flipped: the root is at the bottom}
	// Returns how many rectangles were painted.
	paint(view) {
		const { context: c, layout } = this;
		const { zoom, width, height, top, dpr, colours } = view;
		this.view = view;
		this.painted = 0;
		this.labels = [];
		c.setTransform(dpr, 0, 0, dpr, 0, 0);
		c.fillStyle = colours[INDEX.bg];
		c.fillRect(0, 0, width, height);
		const last = Math.min(Math.floor((top + height) / ROW), layout.deepest);
		const batches = new Map(); // by colour: setting one takes longer than filling
		for (let row = Math.floor(top / ROW); row <= last; row++)
			visibleIn(layout, zoom, width, view.flipped ? layout.deepest - row : row, (node, a, b) => {
				const fill = this.fillOf(node);
				const y = row * ROW - top;
				// a line of the ground between neighbours, while there is room for it
				const list = batches.get(fill) || batches.set(fill, []).get(fill);
				list.push(a, y, Math.max(b - a - (b - a > 2 ? 1 : 0), 0.5));
				this.painted++;
				if (node >= 0 && b - a >= LEAST_TEXT)
					this.labels.push(node, a, b, y, fill);
				if (node > 0 && b - a >= 3 && this.native[this.tree.frame[node]])
					(batches.get(INDEX.stripe) || batches.set(INDEX.stripe, []).get(INDEX.stripe)).push(a, y, b - a);
			});
		for (const [fill, list] of batches)
			if (fill !== INDEX.stripe)
				this.fill(fill, list, 0, ROW - 1);
		if (batches.has(INDEX.stripe)) // native: a bar below, which needs no colour to be told
			this.stripes(batches.get(INDEX.stripe));
		this.write();
		return this.painted;
	}

	fillOf(node) {
		const { tree, view } = this;
		if (node < 0)
			return INDEX.crumb;
		const f = tree.frame[node];
		if (view.hit && f >= 0 && view.hit[f])
			return INDEX.hit;
		if (view.hit || tree.depth[node] < tree.depth[view.zoom]) // the frames above the zoomed one are the way back
			return INDEX.faded;
		return this.fills[node];
	}

	fill(colour, list, from, tall) {
		const { context: c } = this;
		c.fillStyle = this.view.colours[colour];
		for (let i = 0; i < list.length; i += 3)
			c.fillRect(list[i], list[i + 1] + from, list[i + 2], tall);
		// where the system's colours are used, all nodes have the same
		c.strokeStyle = this.view.colours[INDEX.edge];
		c.lineWidth = 1;
		for (let i = 0; c.strokeStyle !== NONE && i < list.length; i += 3)
			if (list[i + 2] > 3)
				c.strokeRect(list[i] + 0.5, list[i + 1] + from + 0.5, list[i + 2] - 1, tall - 1);
	}

	stripes(list) {
		const { context: c } = this;
		c.fillStyle = this.view.colours[INDEX.stripe];
		for (let i = 0; i < list.length; i += 3) {
			const [x, y, w] = [list[i], list[i + 1] + ROW - 3, list[i + 2] - 1];
			for (let at = 0; at < w; at += 6)
				c.fillRect(x + at, y, Math.min(3, w - at), 2);
		}
	}

	write() {
		const { context: c, labels, view } = this;
		c.font = FONT;
		c.textBaseline = "middle";
		let last = -1;
		for (let i = 0; i < labels.length; i += 5) {
			const [node, a, b, y, fill] = labels.slice(i, i + 5);
			const colour = fill === INDEX.hit ? INDEX["hit-text"] : fill === INDEX.faded ? INDEX["faded-text"] : INDEX.text;
			if (colour !== last)
				c.fillStyle = view.colours[last = colour];
			this.label(node, a + PAD, b - a - 2 * PAD, y + ROW / 2);
		}
	}

	label(node, x, room, y) {
		const { context: c, tree } = this;
		const text = this.textOf(node), wide = this.widthOf(node, text);
		if (wide > room) {
			const cut = this.cut(text, wide, room);
			if (cut)
				c.fillText(cut, x, y);
			return;
		}
		c.fillText(text, x, y);
		if (room - wide < 40)
			return;
		const amount = signed(tree.by, tree.value[node]), w = c.measureText(amount).width;
		if (wide + 12 + w <= room)
			c.fillText(amount, x + room - w, y);
	}

	// As much of a text as there is room for; "" if that would say nothing
	cut(text, wide, room) {
		const { context: c } = this;
		let n = Math.floor(text.length * (room / wide));
		while (n > 1) {
			const s = text.slice(0, n).trimEnd() + DOTS;
			if (c.measureText(s).width <= room)
				return s;
			n--;
		}
		return "";
	}

	textOf(node) {
		const f = this.tree.frame[node];
		return f < 0 ? nodeTitle(this.tree, node) : this.texts[f] ??= nodeTitle(this.tree, node);
	}

	widthOf(node, text) {
		const f = this.tree.frame[node];
		if (f < 0)
			return this.context.measureText(text).width;
		return this.wide[f] ||= this.context.measureText(text).width;
	}
}
