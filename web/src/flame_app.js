// SPDX-License-Identifier: GPL-2.0-or-later
// flame_app.js - the flame graph's page: the choices, the graph, one frame in words, the
// table. It gets its trees from a function, so it runs without a server as well.

import { el, setText, setAttr } from "./dom.js";
import { count, visible } from "./format.js";
import { readTree, mergeGroups, findNode, frameHash, nodeName, sumGroups, sumFrames, NATURES } from "./flame_tree.js";
import { search, covered } from "./flame_search.js";
import { ALWAYS, SINCE, sinceName, isRanged, parseQuery, formatQuery, exportQuery, parseView, formatView } from "./flame_state.js";
import { BY, percent, rangeWords, searchWords, spoken, summaryWords } from "./flame_words.js";
import { hue } from "./flame_colours.js";
import { Graph } from "./flame_graph.js";
import { Top } from "./flame_table.js";
import { Details } from "./flame_details.js";
import { Sandwich, findFrame } from "./flame_sandwich.js";

const HEARD = 700; // ms after the last key
const LEGEND = 7;

const swatches = () => [el("span", { class: "swatch native" }, "native"), el("span", { class: "swatch crumbs" }, "too narrow to show apart")];

export class Flame {
	// load(query): a promise of what flame.json says; links: {at(location), flame(query)} as addresses, or null
	// where there is no server: then there is one tree only
	constructor({ load, links }) {
		this.load = load;
		this.links = links;
		this.query = parseQuery(links ? location.search : "");
		this.view = parseView(location.hash);
		this.back = []; // the nodes that were zoomed before
		this.turn = 0;
		this.graph = new Graph({ zoom: (node) => this.zoom(node), back: () => this.zoomBack(), look: (node) => this.look(node), say: (text) => this.say(text) });
		this.top = new Top({ pick: (node) => this.pick(node) });
		this.sandwich = new Sandwich({ go: (frame) => this.between(frame), leave: () => this.leave(), look: (tree, node) => this.details.show(tree, node, 0), say: (text) => this.say(text) });
		this.details = new Details(links, (at) => this.choose({ location: at }), (frame) => this.between(frame));
		this.summary = el("p", { class: "summary" });
		this.trouble = el("p", { class: "warning", role: "alert" });
		this.heard = el("p", { class: "heard", role: "status" });
		this.toolbar = this.makeToolbar();
		this.legend = el("p", { class: "legend" });
		this.root = el("div", { class: "flame" }, this.summary, this.trouble, this.toolbar,
			el("div", { class: "halves" },
				el("section", { class: "graph", "aria-label": "Flame graph" }, this.details.root, this.graph.root, this.sandwich.root, this.legend),
				el("section", { class: "table", "aria-label": "Frames as a table" }, this.top.root)),
			this.heard);
		addEventListener("keydown", (e) => this.press(e));
		addEventListener("popstate", () => this.address());
	}

	makeToolbar() {
		const button = (title, about, onclick, more) => el("button", { type: "button", title: about, onclick, ...more }, title);
		this.bys = el("div", { class: "choice", role: "group", "aria-label": "Bytes" }, NATURES.map((by) =>
			button(BY[by].choice, BY[by].about, () => this.choose({ by, ...(by === "growth" ? {} : ALWAYS) }), { "data-by": by })));
		this.since = el("select", { "aria-label": "Growth since", title: "From which moment on. A part of the live page\u2019s plot gives any other two", onchange: () => this.choose({ ...ALWAYS, ...SINCE[this.since.value]?.query }) },
			Object.entries(SINCE).map(([value, { title }]) => el("option", { value, disabled: value === "other" }, title)));
		this.inverted = button("upside down", "Functions that asked for memory at the top, their callers below", () => this.choose({ invert: !this.query.invert }), { "data-action": "invert" });
		this.ruby = button("Ruby frames only", "Without native functions: methods of Ruby, also those in C", () => this.choose({ frames: this.query.frames === "ruby" ? null : "ruby" }), { "data-action": "ruby" });
		this.startup = button("hide start-up", "Without stacks that load code (require, load, Bundler), and without what leads to the program", () => this.choose({ startup: this.query.startup ? null : "hide" }), { "data-action": "startup" });
		this.merge = button("group by gem", "Neighbouring frames of one gem as one", () => this.set({ merge: !this.view.merge, zoom: "", frame: undefined }), { "data-action": "merge" });
		this.only = button("", "Show all locations again", () => this.choose({ location: null }), { class: "chip", "data-action": "all" });
		this.times = button("", "Show the growth since the last reset instead", () => this.choose(ALWAYS), { class: "chip", "data-action": "times" });
		this.reset = button("zoom out", "Back to all (the key 0)", () => this.zoomAll(), { "data-action": "reset" });
		this.again = button("read again", "Ask for the numbers of this moment", () => this.read(), { "data-action": "again" });
		this.input = el("input", { type: "search", placeholder: "search: text or /regex/", "aria-label": "Search frames", title: "Part of a method, a file or a gem; between slashes a regular expression",
			autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/", value: this.view.q, oninput: () => this.set({ q: this.input.value }) });
		this.found = el("span", { class: "found" });
		return el("div", { class: "toolbar" }, this.links && [this.bys, this.since, this.inverted, this.ruby, this.startup], this.merge, this.only, this.times,
			el("span", { class: "filter-box" }, el("kbd", { "aria-hidden": "true" }, "/"), this.input), this.found, this.reset, this.links && this.again);
	}

	/* --- which tree -------------------------------------------------------------------- */

	// Another tree: its address is one to go back to.
	choose(change) {
		this.query = { ...this.query, ...change };
		this.view = { ...this.view, zoom: "" };
		this.push();
		this.read();
	}

	// Asks for the tree; gives whether there is one to be shown now.
	async read() {
		const turn = ++this.turn;
		setAttr(this.root, "aria-busy", "true");
		this.controls();
		let json;
		try {
			json = await this.load(this.query);
			const tree = readTree(json);
			if (turn === this.turn)
				this.take(tree);
		} catch (e) {
			if (turn === this.turn)
				setText(this.trouble, !json && e.status === undefined ? "No answer: the process may have ended. The last numbers are kept." : `The flame graph can\u2019t be shown: ${e.message}`);
		} finally {
			if (turn === this.turn)
				setAttr(this.root, "aria-busy", null);
		}
		return Boolean(this.tree);
	}

	take(tree) {
		this.whole = tree;
		this.back = [];
		setText(this.trouble, "");
		setText(this.summary, summaryWords(tree, { since: this.query.since, now: Date.now() / 1000 }));
		this.show();
	}

	// The tree as it is looked at
	show() {
		this.tree = this.view.merge ? mergeGroups(this.whole) : this.whole;
		this.graph.take(this.tree, findNode(this.tree, this.view.zoom));
		this.drawLegend();
		this.look(this.graph.focus);
		this.update();
	}

	/* --- how it is looked at ------------------------------------------------------------ */

	set(change) {
		const before = this.view;
		this.view = { ...before, ...change };
		this.push(true);
		if (!this.tree)
			return;
		if (before.merge !== this.view.merge) {
			this.back = [];
			this.show();
		} else {
			this.update();
		}
	}

	zoom(node) {
		const { zoom } = this.graph;
		if (node === zoom)
			return;
		this.back.push(zoom);
		this.zoomTo(node);
	}

	zoomTo(node) {
		this.graph.zoomTo(node);
		this.view = { ...this.view, zoom: node ? nodeName(this.tree, node) : "" };
		this.push();
		this.update();
		this.say(node ? `Zoomed: ${spoken(this.tree, node, node)}` : "All is shown.");
	}

	// To what was zoomed before; without that, to the caller of what is zoomed
	zoomBack() {
		const { zoom } = this.graph;
		if (!zoom)
			return false;
		this.zoomTo(this.back.pop() ?? this.tree.parent[zoom]);
		return true;
	}

	zoomAll() {
		this.back = [];
		if (this.tree && this.graph.zoom)
			this.zoomTo(0);
	}

	// Puts a frame between its callers and its callees.
	between(frame) {
		this.view = { ...this.view, frame: frameHash(this.tree, frame) };
		this.push();
		this.update();
		this.sandwich.below.canvas.focus();
		this.say(this.sandwich.words.textContent);
	}

	// The whole graph again; false: it is shown
	leave() {
		if (!this.view.frame)
			return false;
		this.view = { ...this.view, frame: undefined };
		this.push();
		this.update();
		this.graph.canvas.focus();
		return true;
	}

	// Of the table: the widest node of a frame, in the graph
	pick(node) {
		if (this.view.frame)
			return this.between(this.tree.frame[node]);
		this.graph.select(node);
		this.graph.canvas.focus();
	}

	look(node) {
		this.details.show(this.tree, node, this.graph.zoom);
	}

	update() {
		const { tree, view } = this;
		this.controls();
		const { zoom } = this.graph, found = search(tree, view.q);
		this.sandwich.take(tree, findFrame(tree, view.frame));
		this.graph.root.hidden = !this.sandwich.root.hidden;
		for (const part of [this.graph, this.sandwich])
			part.mark(found?.hit ?? null);
		const words = searchWords(tree, found, zoom, found?.hit && covered(tree, found.hit, zoom));
		setText(this.found, words);
		setAttr(this.found, "data-none", found?.error || found?.frames === 0 ? "" : null);
		if (view.q !== this.said) {
			clearTimeout(this.later);
			if (this.said !== undefined)
				this.later = setTimeout(() => this.say(words), HEARD);
			this.said = view.q;
		}
		this.top.update(tree, zoom);
		if (this.graph.root.hidden)
			this.sandwich.look(0);
		else
			this.look(this.graph.focus);
	}

	controls() {
		const { query, view } = this;
		for (const node of this.bys.children)
			setAttr(node, "aria-pressed", node.dataset.by === query.by);
		this.since.hidden = query.by !== "growth";
		this.since.value = sinceName(query);
		setAttr(this.inverted, "aria-pressed", query.invert);
		setAttr(this.ruby, "aria-pressed", query.frames === "ruby");
		setAttr(this.startup, "aria-pressed", query.startup === "hide");
		setAttr(this.merge, "aria-pressed", view.merge);
		for (const link of this.links ? document.querySelectorAll(".exports a") : [])
			link.search = exportQuery(query);
		this.only.hidden = !query.location;
		setText(this.only, `only ${visible(query.location?.slice(query.location.lastIndexOf("/") + 1) ?? "")} \u00d7`);
		this.times.hidden = !isRanged(query);
		setText(this.times, `${this.whole?.range ? rangeWords(this.whole.range, Date.now() / 1000) : "a range of time"} \u00d7`);
		this.reset.disabled = !this.graph.zoom;
		if (this.input.value !== view.q)
			this.input.value = view.q;
	}

	drawLegend() {
		const { tree } = this;
		if (tree.by === "growth") {
			this.legend.replaceChildren(el("span", { class: "swatch more" }, "grew"), el("span", { class: "swatch less" }, "shrank"), "stronger is more; as wide as what grew and shrank together", ...swatches());
			return;
		}
		const groups = sumGroups(tree, sumFrames(tree).own), all = tree.width[0];
		this.legend.replaceChildren(el("span", {}, "Own bytes by gem:"), ...groups.slice(0, LEGEND).map(([name, n]) =>
			el("span", { class: `swatch hue-${hue(name)}` }, `${visible(name)} ${percent(n, all)}`)),
		groups.length > LEGEND ? el("span", {}, `and ${count(groups.length - LEGEND)} more`) : "", ...swatches());
	}

	/* --- the address, keys, words ------------------------------------------------------- */

	push(replace) {
		const url = location.pathname + (this.links ? formatQuery(this.query) : location.search) + formatView(this.view);
		clearTimeout(this.typed);
		if (replace) // not at every keystroke: browsers count these
			this.typed = setTimeout(() => history.replaceState(null, "", url), 200);
		else
			history.pushState(null, "", url);
	}

	// The browser went back or forth, or the fragment was typed.
	address() {
		const query = parseQuery(this.links ? location.search : ""), view = parseView(location.hash);
		const other = formatQuery(query) !== formatQuery(this.query), merge = view.merge !== this.view.merge;
		Object.assign(this, { query, view });
		if (other || !this.tree)
			return void this.read();
		this.back = [];
		if (merge)
			return this.show();
		this.graph.zoomTo(findNode(this.tree, view.zoom));
		this.update();
	}

	press(event) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
			return;
		if (event.key === "/" && !typing) {
			event.preventDefault();
			this.input.focus();
		} else if (event.key === "s" && !typing && this.tree) {
			const frame = this.graph.root.hidden ? this.sandwich.chosen : this.tree.frame[this.graph.focus];
			if (frame >= 0)
				this.between(frame);
		} else if (event.key === "0" && !typing) {
			this.zoomAll();
		} else if (event.target === this.input && ["Enter", "ArrowDown"].includes(event.key)) {
			event.preventDefault();
			this.graph.canvas.focus();
		} else if (event.key === "Escape") {
			if (this.view.q && (typing || !this.graph.zoom))
				this.set({ q: "" });
			else if (!this.leave() && !this.zoomBack())
				document.activeElement?.blur();
		}
	}

	say(text) {
		setText(this.heard, text);
	}
}
