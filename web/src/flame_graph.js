// SPDX-License-Identifier: GPL-2.0-or-later
// flame_graph.js - the canvas: the pointer, the focus and the zoom. The box around it
// scrolls; the canvas is as large as what can be seen of it.

import { el } from "./dom.js";
import { layOut, hit, move, within } from "./flame_layout.js";
import { Painter, ROW } from "./flame_draw.js";
import { readColours } from "./flame_colours.js";
import { spoken, BY } from "./flame_words.js";

const LOW = 6 * ROW;
const KEYS = "Arrows go to the caller, to what it called and to its neighbours; Enter zooms, Escape zooms out, s shows all its callers and callees.";
const PART_KEYS = "Arrows go to callers, callees and neighbours; Enter puts a frame in the middle, Escape goes back to the whole graph.";
const FLIPPED = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };

export class Graph {
	// on: {zoom(node), back() was there something to go back from, look(node or -1), say(text)}
	// part: it is one of two, and flipped if its root is at the bottom
	constructor(on, part) {
		this.on = on;
		this.part = part;
		this.flipped = Boolean(part?.flipped);
		this.tree = null;
		this.zoom = this.focus = 0;
		this.over = -1;
		this.hits = null;
		this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "flame graph" });
		// not painted on the canvas: moving the pointer from frame to frame then needs no new picture
		this.ring = el("div", { class: "ring" });
		this.pointer = el("div", { class: "ring over" });
		this.room = el("div", { class: "room" }, this.canvas, this.ring, this.pointer);
		this.root = el("div", { class: "frames" }, this.room);
		this.painter = new Painter(this.canvas.getContext("2d", { alpha: false }));
		this.canvas.addEventListener("keydown", (e) => this.press(e));
		this.canvas.addEventListener("pointermove", (e) => this.point(this.at(e)), { passive: true });
		this.canvas.addEventListener("pointerleave", () => this.point(-1));
		this.canvas.addEventListener("click", (e) => this.click(e));
		for (const name of ["focus", "blur"])
			this.canvas.addEventListener(name, () => this.attention());
		this.root.addEventListener("scroll", () => this.ask(), { passive: true });
		new ResizeObserver(() => this.ask(true)).observe(this.root);
		for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"])
			matchMedia(query).addEventListener("change", () => this.ask(true));
		this.sharpness();
	}

	// Another screen, or the page's zoom
	sharpness() {
		matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
			this.ask(true);
			this.sharpness();
		}, { once: true });
	}

	// about: what it shows, for those who listen
	take(tree, zoom, about) {
		this.tree = tree;
		this.layout = layOut(tree);
		this.painter.take(tree, this.layout);
		this.zoom = this.focus = zoom;
		this.over = -1;
		this.hits = null;
		this.room.style.height = `${(tree.deepest + 1) * ROW}px`;
		this.canvas.setAttribute("aria-label", `${about ?? `Flame graph of ${BY[tree.by].noun}, ${tree.inverted ? "what asked for memory at the top" : "the program’s start at the top"}.`} ${this.part ? PART_KEYS : KEYS}`);
		this.root.scrollTop = this.flipped ? this.root.scrollHeight : 0;
		this.ask(true);
	}

	// hits: 1 by frame, or null
	mark(hits) {
		this.hits = hits;
		this.ask();
	}

	zoomTo(node) {
		this.zoom = node;
		if (!within(this.tree, node, this.focus))
			this.focus = node;
		this.over = -1;
		this.show(this.focus);
		this.on.look(this.focus);
		this.ask();
	}

	// Puts the focus on a node.
	select(node, quiet) {
		this.focus = node;
		this.over = -1;
		this.show(node);
		this.on.look(node);
		if (!quiet)
			this.on.say(spoken(this.tree, node, this.zoom));
		this.outlines();
	}

	// From a depth to its row, and back
	rowOf(depth) {
		return this.flipped ? this.layout.deepest - depth : depth;
	}

	show(node) {
		const { root } = this, y = this.rowOf(this.tree.depth[node]) * ROW;
		if (y < root.scrollTop)
			root.scrollTop = y;
		else if (y + ROW > root.scrollTop + root.clientHeight)
			root.scrollTop = y + ROW - root.clientHeight;
	}

	attention() {
		if (!this.tree)
			return;
		this.outlines();
		this.on.look(this.focus);
		if (document.activeElement === this.canvas)
			this.on.say(spoken(this.tree, this.focus, this.zoom));
	}

	/* --- keys and pointer ------------------------------------------------------------ */

	press(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || !this.tree)
			return;
		const key = this.flipped ? FLIPPED[event.key] ?? event.key : event.key;
		if (key === "Enter" || key === " ") {
			this.on.zoom(this.focus);
		} else if (key === "Escape" || key === "Backspace") {
			if (!this.on.back())
				return;
		} else {
			const to = move(this.tree, this.focus, key);
			if (to === undefined)
				return;
			// from a frame above the zoomed one the way down is the one to it
			const down = key === "ArrowDown" && this.focus < this.zoom && this.zoom < this.tree.end[this.focus] ? this.towards(this.zoom) : to;
			if (within(this.tree, this.zoom, down))
				this.select(down);
		}
		event.preventDefault();
		event.stopPropagation();
	}

	// The frame right below the focused one, on the way to a node
	towards(node) {
		let i = node;
		while (this.tree.parent[i] !== this.focus)
			i = this.tree.parent[i];
		return i;
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect();
		const row = Math.floor((event.clientY - box.top + this.root.scrollTop) / ROW);
		return this.tree ? hit(this.layout, this.zoom, box.width, this.rowOf(row), event.clientX - box.left) : -1;
	}

	point(node) {
		if (node === this.over)
			return;
		this.over = node;
		this.canvas.classList.toggle("hand", node >= 0);
		this.on.look(node >= 0 ? node : this.focus);
		this.outlines();
	}

	// A finger cannot hover: its first touch selects, the second one zooms.
	click(event) {
		const node = this.at(event);
		if (node < 0)
			return;
		const first = event.pointerType === "touch" && node !== this.focus;
		this.select(node, true);
		if (!first)
			this.on.zoom(node);
	}

	/* --- drawing --------------------------------------------------------------------- */

	// Once in a frame; anew: sizes or colours may be others
	ask(anew) {
		this.anew ||= anew;
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (this.tree && this.root.isConnected)
				this.draw();
		});
	}

	draw() {
		const { canvas, root } = this;
		if (this.anew || !this.colours) {
			this.colours = readColours(root);
			this.anew = false;
			// no taller than what there is, nor than the window has room for
			const most = innerHeight - Math.max(root.getBoundingClientRect().top + scrollY, 0) - 24;
			root.style.maxHeight = `${this.part ? Math.max(LOW, innerHeight * 0.35) : Math.max(most, LOW, innerHeight * 0.5)}px`;
			const dpr = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = root;
			const [w, h] = [Math.round(width * dpr), Math.round(height * dpr)];
			if (canvas.width !== w || canvas.height !== h) {
				canvas.width = w;
				canvas.height = h;
				canvas.style.width = `${width}px`;
				canvas.style.height = `${height}px`;
			}
			Object.assign(this, { width, height, dpr });
		}
		if (!this.width || !this.height)
			return;
		this.painted = this.painter.paint({ zoom: this.zoom, width: this.width, height: this.height, top: root.scrollTop, dpr: this.dpr, colours: this.colours,
			hit: this.hits, flipped: this.flipped });
		this.outlines();
	}

	outlines() {
		this.outline(this.ring, document.activeElement === this.canvas ? this.focus : -1);
		this.outline(this.pointer, this.over);
	}

	outline(box, node) {
		box.hidden = node < 0 || !this.width;
		if (box.hidden)
			return;
		const { layout: { x0, x1 }, zoom, width, tree } = this;
		const [a, b] = [x0[node], x1[node]].map((x) => Math.min(Math.max((x - x0[zoom]) / (x1[zoom] - x0[zoom]) * width, 0), width));
		Object.assign(box.style, { left: `${Math.min(a, width - 4)}px`, top: `${this.rowOf(tree.depth[node]) * ROW}px`, width: `${Math.max(b - a, 4)}px`, height: `${ROW}px` });
	}
}
