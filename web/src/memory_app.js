// SPDX-License-Identifier: GPL-2.0-or-later
// memory_app.js - the memory map's page: one snapshot, or two side by side. It gets its snapshots from a source, so it
// runs without a server as well.

import { el, setAttr, setText } from "./dom.js";
import { clock } from "./format.js";
import { save } from "./save.js";
import { Tiles } from "./memory_tiles.js";
import { asBefore } from "./memory_layout.js";
import { MapView } from "./memory_view.js";
import { PagePanel } from "./memory_page.js";
import { Lines } from "./memory_lines.js";
import { WhatIf } from "./memory_whatif.js";
import { TrimControl } from "./memory_trim.js";
import { byBits, byColour } from "./memory_light.js";
import { cellWords, scaleWords, stateWords } from "./memory_words.js";
import { advice, bar, comparison, key, mappingsTable, panelsTable, partsTable, sentence } from "./memory_tables.js";

const HEARD = 400; // ms after the last key, for those who listen
const KEPT_MOST = 1 << 20; // cells of a level of a snapshot that is kept
const HINT = { opens: "Point at a square, or move there with the arrows. A click, or Enter, says who lives in its page.", alone: "Point at a square, or move there with the arrows: it is told here." };

export class Memory {
	// source: see ServerSource; without page there is one snapshot, without bits a line is lit by its colour, without whatIf nobody
	// can ask that; links: {at(location)} or null; trims: may
	// somebody trim here?
	constructor({ source, links, trims }) {
		Object.assign(this, { source, links, zoom: null, view: null, kept: null, renewed: false, turn: 0 });
		this.head = el("div");
		this.trouble = el("p", { class: "warning", role: "alert" });
		this.said = el("p", { class: "said", role: "status" });
		this.details = el("p", { class: "details" });
		this.heard = el("p", { class: "heard", role: "status" });
		this.toolbar = this.makeToolbar();
		this.maps = el("div", { class: "maps" });
		this.panel = source.page ? new PagePanel(links, () => this.view?.canvas.focus()) : null;
		this.lines = new Lines(links, (locations) => this.choose(locations));
		this.whatIf = source.whatIf ? new WhatIf((locations) => source.whatIf(locations)) : null;
		this.trimmer = trims ? new TrimControl({ estimate: () => source.estimate(), trim: () => this.trim(), say: (text) => setText(this.said, text) }) : null;
		this.tables = el("div");
		this.compared = el("div");
		this.root = el("div", { class: "memory" }, this.head, this.trouble, this.toolbar, this.trimmer?.question, this.said, this.compared, this.details,
			el("div", { class: "map-and-page" }, this.panel && el("div", { class: "beside" }, this.panel.root), this.maps), this.lines.root, this.whatIf?.root, this.tables, this.heard);
	}

	makeToolbar() {
		const button = (title, about, action, onclick) => el("button", { type: "button", title: about, "data-action": action, onclick }, title);
		this.closer = button("+", "Closer", "closer", () => this.step(-1));
		this.farther = button("\u2212", "Farther", "farther", () => this.step(1));
		this.fit = button("All", "As close as all of it fits", "fit", () => this.zoomTo(null));
		for (const [node, name] of [[this.closer, "Closer"], [this.farther, "Farther"]])
			setAttr(node, "aria-label", name);
		this.scale = el("span", { class: "scale" });
		this.time = el("span", { class: "time" });
		this.again = button("Take again", "A snapshot of this moment", "again", () => {
			setText(this.said, "");
			this.read();
		});
		this.keep = button("Keep, to compare", "Keep this snapshot; the next one is shown beside it", "keep", () => this.keepIt());
		this.single = button("Stop comparing", "Show the last snapshot alone", "single", () => this.drop());
		return el("div", { class: "toolbar" }, el("div", { class: "choice", role: "group", "aria-label": "Zoom" }, this.closer, this.farther, this.fit), this.scale,
			button("Save as PNG", "All of the map at this zoom, as a picture", "picture", () => this.picture()), this.source.page && [this.time, this.again, this.keep, this.single], this.toolsEnd = el("span"));
	}

	/* --- snapshots ------------------------------------------------------------------------ */

	// Asks for a snapshot; returns whether it is shown now. An earlier request's answer isn't shown any more.
	async read() {
		const turn = ++this.turn;
		setAttr(this.root, "aria-busy", "true");
		this.again.disabled = true;
		let json, taken = false;
		try {
			json = await this.source.snapshot();
			if (this.kept)
				json.panels = asBefore(this.kept.json.panels, json.panels);
			if (turn === this.turn) {
				this.take(json);
				taken = true;
			}
		} catch (e) {
			if (turn === this.turn)
				setText(this.trouble, !json && this.source.page && e.status === undefined ? `No answer: the process may have ended.${this.view ? " The last snapshot stays." : ""}` : `The map can\u2019t be shown: ${e.message}`);
		} finally {
			if (turn === this.turn) {
				setAttr(this.root, "aria-busy", null);
				this.again.disabled = false;
			}
		}
		return taken;
	}

	take(json) {
		if (this.view !== this.kept)
			this.view?.close();
		setText(this.trouble, "");
		this.json = json;
		this.colours = new Map(json.lines.filter((l) => l.colour).map((l) => [l.colour, l.location]));
		this.view = this.makeView(json);
		this.head.replaceChildren(...[sentence(json), advice(json), bar(json), partsTable(json), el("h2", {}, "Every page of the heap"), key(json)].filter(Boolean));
		this.tables.replaceChildren(...[mappingsTable(json, this.links), panelsTable(json)].filter(Boolean));
		this.panel?.hide();
		this.whatIf?.take(json);
		this.lines.take(json.lines);
		this.trimmer?.take(json);
		if (this.trimmer && this.trimmer.button.parentNode !== this.toolsEnd)
			this.toolsEnd.append(this.trimmer.button);
		this.show();
		this.choose([...this.lines.selected]);
	}

	makeView(json) {
		const tiles = new Tiles(json, (level, n) => this.source.tile(json, level, n), { loaded: () => { this.renewed = false; view.ask(); }, lost: (e) => this.lost(e, view) });
		const view = new MapView(json, tiles, { look: (at) => this.look(view, at), open: (at) => this.open(view, at), zoomed: () => this.controls() }, { opens: Boolean(this.source.page) });
		view.zoomTo(this.zoom);
		return view;
	}

	// A snapshot that the server doesn't have any more: another one, once.
	lost(e, view) {
		if (view !== this.view)
			return;
		if (e.status !== 404 || this.renewed || !this.source.page) {
			setText(this.trouble, e.status ? `Parts of the map can\u2019t be shown: ${e.message}` : "No answer: the process may have ended. This page keeps what it shows.");
			return;
		}
		this.renewed = true;
		setText(this.said, "The server keeps a snapshot for a minute: this is a new one.");
		this.read();
	}

	// One map, or two of the same zoom side by side
	show() {
		const both = this.kept && this.kept !== this.view;
		this.root.classList.toggle("two", Boolean(both));
		const named = (view, what) => el("figure", {}, el("figcaption", {}, `${what}, ${clock(view.json.unix, true)}`), view.root);
		this.maps.replaceChildren(...(both ? [named(this.kept, "Before"), named(this.view, "After")] : [this.view.root]));
		this.compared.replaceChildren(...(both ? [comparison(this.kept.json, this.json)] : []));
		for (const view of this.views)
			view.ask(true);
		this.controls();
	}

	get views() {
		return [...(this.kept && this.kept !== this.view ? [this.kept] : []), this.view];
	}

	/* --- two of them ------------------------------------------------------------------------ */

	// The server forgets a snapshot after a minute, so its cells are fetched now.
	async hold(view) {
		const { tiles } = view;
		tiles.wanted = [];
		for (let level = 0; level <= tiles.last; level++)
			if (tiles.levels[level].n <= KEPT_MOST || level === tiles.last)
				await tiles.all(level);
		tiles.close();
		if (this.kept !== view)
			this.kept?.close();
		this.kept = view;
	}

	async keepIt() {
		this.keep.disabled = true;
		try {
			await this.hold(this.view);
			setText(this.said, `The snapshot of ${clock(this.json.unix, true)} is kept. Take another one: both are shown then.`);
			this.show();
		} catch (e) {
			setText(this.said, e.status === 404 ? "The server doesn\u2019t have this snapshot any more: take another one first." : "No answer: the process may have ended.");
		} finally {
			this.keep.disabled = false;
		}
	}

	drop() {
		if (this.kept !== this.view)
			this.kept.close();
		this.kept = null;
		setText(this.said, "");
		this.show();
		this.keep.focus();
	}

	// The picture of what is shown; of two, that of the later one
	async picture() {
		const { view, json } = this;
		try {
			const png = await view.picture();
			if (png)
				save(`mwrap-${json.pid}-map-${clock(json.unix, true).replaceAll(":", "")}.png`, png, png.type);
			setText(this.said, png ? "" : "The map is too tall for a picture: zoom out first.");
		} catch (e) {
			this.lost(e, view);
		}
	}

	// A snapshot before, the trim, and one after it. Gives what the server said.
	async trim() {
		if (!await this.read())
			throw new Error("there is no snapshot");
		await this.hold(this.view);
		const { said, pid } = await this.source.trim();
		await this.read();
		return pid && pid !== this.json.pid ? `Another process, pid ${pid}, answered: ${said}` : said;
	}

	/* --- zoom, words ------------------------------------------------------------------------ */

	step(by) {
		if (!this.view.layout)
			return;
		this.zoomTo(Math.min(Math.max(this.view.shown + by, 0), this.view.zoomsN - 1));
	}

	zoomTo(zoom) {
		this.zoom = zoom;
		this.view.zoomTo(zoom);
	}

	controls() {
		const { view } = this;
		if (!view?.layout)
			return;
		if (this.kept && this.kept !== view && this.kept.zoom !== view.shown)
			this.kept.zoomTo(view.shown); // what fits one may not fit the other
		this.closer.disabled = view.shown === 0;
		this.farther.disabled = view.shown === view.zoomsN - 1;
		setAttr(this.fit, "aria-pressed", this.zoom === null);
		setText(this.scale, scaleWords(view.layout.level, view.layout.row, view.json.page_bytes));
		setText(this.time, `as of ${clock(view.json.unix, true)}`);
		this.single.hidden = !this.kept;
		this.keep.hidden = Boolean(this.kept);
		setText(this.again, this.kept ? "Take another" : "Take again");
		if (!this.details.textContent)
			this.look(view, null);
	}

	look(view, at) {
		const words = at && this.words(view, at);
		setText(this.details, words || (this.source.page ? HINT.opens : HINT.alone));
		clearTimeout(this.later);
		if (words && document.activeElement === view.canvas)
			this.later = setTimeout(() => setText(this.heard, words), HEARD);
	}

	words(view, at) {
		return cellWords({ ...view.about(at), json: view.json, byColour: this.coloursOf(view) });
	}

	coloursOf(view) {
		return view.byColour ??= new Map(view.json.lines.filter((l) => l.colour).map((l) => [l.colour, l.location]));
	}

	open(view, at) {
		if (!this.panel)
			return;
		const { address, byte, pages } = view.about(at);
		this.panel.show(address, () => this.source.page(address), view.onTheRight(at) ? "left" : "right", pages > 1 ? "The first page of this square" : stateWords(byte, view.json.allocator).replace(/^./, (c) => c.toUpperCase()));
	}

	// Lines were selected: their pages light up.
	async choose(locations) {
		const chosen = this.chosen = {}, { view } = this;
		this.whatIf?.choose(locations);
		if (!locations.length)
			return this.views.forEach((v) => v.light(null));
		for (const v of this.views)
			if (v === this.kept || !this.source.bits)
				v.light(byColour(locations, v.json, this.source.lines ? (level) => this.source.lines(level) : (level) => v.tiles.level(level).line));
		if (!this.source.bits || view === this.kept)
			return;
		try {
			const bits = await this.source.bits(view.json, locations);
			if (chosen === this.chosen && view === this.view)
				view.light(byBits(bits, view.json));
		} catch (e) {
			if (chosen === this.chosen)
				this.lost(e, view);
		}
	}
}
