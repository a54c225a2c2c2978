// SPDX-License-Identifier: GPL-2.0-or-later
// memory_view.js - the canvas of one snapshot: its panels, what is pointed at, the cursor. The box around it scrolls;
// the canvas is as large as what can be seen of it.

import { el, setAttr } from "./dom.js";
import { layOut, visibleCells, hit, place, move, follow, pageOf, addressOf, fitZoom, hex, zooms } from "./memory_layout.js";
import { paint } from "./memory_draw.js";
import { readColours } from "./memory_colours.js";
import { panelWords } from "./memory_words.js";

const LABEL = 20, FONT = "12px system-ui, sans-serif", DOTS = "\u2026";
const PART = 0.72, WHOLE = 1.6; // of the window's height: what a map takes that scrolls, and up to which none does
const TALLEST = 16384; // pixels of a picture: more of them some browsers refuse
const KEYS = "Arrows move from page to page, Page Up and Page Down from panel to panel.";

const cut = (context, text, room) => {
	const wide = context.measureText(text).width;
	return wide <= room ? text : `${text.slice(0, Math.max(0, Math.floor(text.length * room / wide) - 1))}${DOTS}`;
};

export class MapView {
	// tiles: Tiles of the snapshot json; on: {look(cell or null), open(cell), zoomed()}; a cell is {block, cell, page}
	constructor(json, tiles, on, { opens }) {
		Object.assign(this, { json, tiles, on, at: null, over: null, lit: null, zoom: null });
		this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "memory map",
			"aria-label": `Every page of the heap, a panel for each arena. ${KEYS}${opens ? " Enter says who lives in a page." : ""} The panels are also a table below.` });
		this.ring = el("div", { class: "ring", hidden: true });
		this.pointer = el("div", { class: "ring over", hidden: true });
		this.room = el("div", { class: "room" }, this.canvas, this.ring, this.pointer);
		this.root = el("div", { class: "cells" }, this.room);
		this.context = this.canvas.getContext("2d", { alpha: false });
		this.canvas.addEventListener("keydown", (e) => this.press(e));
		this.canvas.addEventListener("pointermove", (e) => this.point(this.under(e)), { passive: true });
		this.canvas.addEventListener("pointerleave", () => this.point(null));
		this.canvas.addEventListener("click", (e) => this.click(e));
		for (const name of ["focus", "blur"])
			this.canvas.addEventListener(name, () => this.attention());
		this.root.addEventListener("scroll", () => this.ask(), { passive: true });
		this.resized = new ResizeObserver(() => this.ask(true));
		this.resized.observe(this.root);
		this.ended = new AbortController(); // the page outlives a view
		for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"])
			matchMedia(query).addEventListener("change", () => this.ask(true), { signal: this.ended.signal });
		this.sharpness();
	}

	// Another screen, or the page's zoom
	sharpness() {
		matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
			this.ask(true);
			this.sharpness();
		}, { once: true, signal: this.ended.signal });
	}

	// zoom: of zooms(), or null: the closest one at which all of it fits
	zoomTo(zoom) {
		this.zoom = zoom;
		this.ask(true);
	}

	// The view that is drawn now
	get shown() {
		return this.zoom ?? this.fit;
	}

	get zoomsN() {
		return zooms(this.json).length;
	}

	// lit: a function from a level to a byte for each cell, or null: nothing is lit
	light(lit) {
		this.lit = lit;
		this.ask();
	}

	/* --- the cursor and the pointer ------------------------------------------------------- */

	// {block, cell} with the page it begins with
	full(at) {
		return at && { ...at, page: pageOf(this.layout, this.json.panels, at) };
	}

	// A cell's facts, for words
	about({ block, cell, page }) {
		const panel = this.json.panels[block.panel], [byte, line] = this.tiles.cell(this.layout.level, cell);
		return { byte, line, panel, pages: Math.min(4 ** this.layout.level, panel.cell + panel.cells - page), address: hex(addressOf(panel, page, this.json.page_bytes)) };
	}

	// Is it in the right half of the map?
	onTheRight(at) {
		return place(this.layout, at).x > this.width / 2;
	}

	press(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || !this.at)
			return;
		if (event.key === "Enter" || event.key === " ") {
			this.on.open(this.at);
		} else {
			const to = move(this.layout, this.at, event.key);
			if (!to)
				return;
			this.put(to);
			this.on.look(this.at);
		}
		event.preventDefault();
	}

	// Puts the cursor on a cell, and scrolls to it.
	put(at) {
		this.at = this.full(at);
		const { root, dpr, layout } = this, y = place(layout, at).y / dpr, tall = layout.cell / dpr;
		const above = at.cell - at.block.from < layout.row ? layout.label / dpr : 0;
		if (y - above < root.scrollTop)
			root.scrollTop = y - above;
		else if (y + tall > root.scrollTop + root.clientHeight)
			root.scrollTop = y + tall - root.clientHeight;
		this.outlines();
	}

	under(event) {
		if (!this.layout)
			return null;
		const box = this.canvas.getBoundingClientRect();
		return this.full(hit(this.layout, Math.floor((event.clientX - box.left) * this.dpr), Math.floor((event.clientY - box.top + this.root.scrollTop) * this.dpr)));
	}

	point(at) {
		if (at?.cell === this.over?.cell && at?.block === this.over?.block)
			return;
		this.over = at;
		this.canvas.classList.toggle("hand", Boolean(at));
		this.on.look(at || this.focused());
		this.outlines();
	}

	focused() {
		return document.activeElement === this.canvas ? this.at : null;
	}

	click(event) {
		const at = this.under(event);
		if (!at)
			return;
		this.at = at;
		this.outlines();
		this.on.look(at);
		this.on.open(at);
	}

	attention() {
		this.outlines();
		this.on.look(this.focused());
	}

	/* --- drawing --------------------------------------------------------------------------- */

	// Once in a frame; anew: sizes or colours may be others
	ask(anew) {
		this.anew ||= anew;
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (this.root.isConnected)
				this.draw();
		});
	}

	// All sizes are read before any is written.
	measure() {
		const { root, json } = this, dpr = devicePixelRatio || 1, room = innerHeight, height = Math.round(room * PART);
		const label = Math.round(LABEL * dpr), width = Math.floor(root.clientWidth * dpr);
		if (!width)
			return;
		const before = this.layout, at = this.at;
		this.colours = readColours(root);
		this.fit = fitZoom(json, { width, height: height * dpr, whole: room * WHOLE * dpr, scale: dpr, label });
		this.zoom = this.zoom === null ? null : Math.min(this.zoom, this.zoomsN - 1);
		const [level, px] = zooms(json)[this.shown];
		this.layout = layOut(json.panels, { width, cell: Math.max(1, Math.round(px * dpr)), level, label, scale: dpr });
		const whole = Math.ceil(this.layout.height / dpr), seen = whole <= room * WHOLE ? whole : height;
		Object.assign(this, { dpr, width, tall: Math.max(1, Math.round(seen * dpr)) });
		root.style.height = `${seen}px`;
		this.room.style.height = `${Math.ceil(this.layout.height / dpr)}px`;
		this.canvas.width = width;
		this.canvas.height = this.tall;
		this.canvas.style.width = `${width / dpr}px`;
		this.canvas.style.height = `${this.tall / dpr}px`;
		this.image = this.context.createImageData(width, this.tall);
		this.over = null;
		const again = at ? follow(this.layout, at.block.panel, at.page) : this.layout.blocks[0] && { block: this.layout.blocks[0], cell: this.layout.blocks[0].from };
		this.at = again && this.full(again);
		if (before && (before.level !== level || before.cell !== this.layout.cell) && at)
			this.put(again);
		this.on.zoomed();
	}

	draw() {
		if (this.anew || !this.layout) {
			this.anew = false;
			this.measure();
		}
		const { layout, tiles } = this;
		if (!layout)
			return;
		const top = Math.round(this.root.scrollTop * this.dpr);
		tiles.want(layout.level, visibleCells(layout, top, top + this.tall - 1));
		const from = performance.now();
		this.painted = this.fill(this, top);
		this.took = performance.now() - from;
		setAttr(this.root, "data-loading", tiles.pending ? "" : null);
		this.outlines();
	}

	// All of the map as it is now, also what isn't in sight, as a PNG; null: a canvas can't be so tall.
	async picture() {
		this.draw(); // a zoom may wait for its frame
		const { layout, tiles, width } = this, height = Math.max(1, Math.ceil(layout.height)), canvas = el("canvas", { width, height });
		const context = canvas.getContext("2d", { alpha: false });
		if (height > TALLEST)
			return null;
		await tiles.all(layout.level);
		this.fill({ context, image: context.createImageData(width, height), tall: height }, 0, layout);
		return new Promise((done) => canvas.toBlob(done, "image/png"));
	}

	// Draws on a canvas what is below `top`, as tall as it is. Returns how many cells were painted.
	fill({ context, image, tall }, top, layout = this.layout) {
		const painted = paint(new Uint32Array(image.data.buffer), { width: image.width, height: tall, top }, layout, this.tiles, this.colours, this.lit?.(layout.level));
		context.putImageData(image, 0, 0);
		this.labels(context, layout, top, tall);
		return painted;
	}

	// The panels' titles, and a line around what has cells
	labels(c, layout, top, tall) {
		const { dpr, colours } = this;
		c.font = FONT.replace(/^\d+/, (n) => n * dpr);
		c.textBaseline = "middle";
		for (const b of layout.blocks) {
			if (b.y > top + tall || b.y + b.height < top)
				continue;
			const text = panelWords(this.json.panels[b.panel]);
			c.fillStyle = colours.text;
			c.fillText(cut(c, text, b.width), b.x, b.y - top + layout.label / 2);
			c.strokeStyle = colours.edge;
			c.lineWidth = 1;
			for (let column = 0; column < b.columns; column++) {
				const rows = Math.min(b.rows, Math.ceil((b.to - b.from) / layout.row) - column * b.rows);
				c.strokeRect(b.x + column * (layout.wide + layout.gap) - 0.5, b.y - top + layout.label - 0.5, layout.wide + 1, rows * layout.cell + 1);
			}
		}
	}

	outlines() {
		this.outline(this.ring, this.focused());
		this.outline(this.pointer, this.over);
	}

	outline(box, at) {
		box.hidden = !at || !this.layout;
		if (box.hidden)
			return;
		const { x, y } = place(this.layout, at), { dpr } = this, side = Math.max(this.layout.cell / dpr, 3);
		Object.assign(box.style, { left: `${x / dpr - 2}px`, top: `${y / dpr - 2}px`, width: `${side + 4}px`, height: `${side + 4}px` });
	}

	close() {
		this.ended.abort();
		this.resized.disconnect();
		this.tiles.close();
	}
}
