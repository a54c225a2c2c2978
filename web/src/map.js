// SPDX-License-Identifier: GPL-2.0-or-later
// map.js - the treemap: areas are live bytes, warm is what grows. Every area is
// a button: Tab or the arrows go through them, most bytes first, Enter looks
// into one, Esc goes back. Below it the same as a list, for those who read it.

import { el, setText, setAttr } from "./dom.js";
import { bytes, visible } from "./format.js";
import { tree, layout } from "./tree.js";

// The growth of an area, as a part of all that is shown, and its colour
const HEATS = [[1, "2\u201310\u00a0% of all"], [2, "10\u201330\u00a0%"], [3, "over 30\u00a0%"]];
const AMOUNT = 70; // pixels that one needs
const ALL = { line: "All lines", file: "All files", dir: "All folders", gem: "All gems", kind: "All kinds" };

export class TreeMap {
	// on: {zoom(names), open(location), draw()}; the colours mean what Legend says
	constructor(on) {
		this.on = on;
		this.path = el("p", { class: "path" });
		this.box = el("div", { class: "boxes", role: "group", "aria-label": "Live bytes as areas" });
		this.list = el("ul");
		this.since = el("span");
		this.legend = el("p", { class: "legend" }, "Area: live bytes. Colour: ", this.since, ", where it is over 30\u00a0% of the area: ",
			HEATS.map(([heat, text]) => el("span", { class: "key-area" }, el("i", { "data-heat": heat }), text)));
		this.root = el("div", { class: "map", hidden: true }, el("div", { class: "line" }, this.path, this.legend), this.box,
			el("details", {}, el("summary", {}, "As a list"), this.list));
		this.box.addEventListener("keydown", (e) => this.press(e));
		new ResizeObserver(() => on.draw()).observe(this.box);
	}

	// since: the growth's title
	update(rows, slots, group, zoom, since) {
		setText(this.since, `growth ${since}`);
		const { clientWidth: width, clientHeight: height } = this.box;
		if (!width || !height)
			return;
		const root = tree(rows, slots, group, zoom);
		this.crumbs(root, group, root.path);
		const boxes = layout(root, width, height);
		const had = this.box.contains(document.activeElement) ? document.activeElement.dataset.key : null;
		while (this.box.children.length > boxes.length)
			this.box.lastChild.remove();
		boxes.forEach((b, i) => this.place(this.box.children[i] || this.make(), b, root, zoom));
		if (had)
			[...this.box.children].find((n) => n.dataset.key === had)?.focus();
		this.describe(root);
	}

	make() {
		const node = el("button", { type: "button", onclick: () => this.enter(node) }, el("b"), " ", el("span"));
		this.box.append(node);
		return node;
	}

	place(node, { data, depth, x0, y0, x1, y1 }, root) {
		node.data = data;
		const heat = data.growth > 0 && data.bytes ? data.growth / data.bytes : 0;
		const share = root.bytes ? data.growth / root.bytes : 0;
		setAttr(node, "class", `area depth-${depth}${data.children.length ? " parent" : ""}${x1 - x0 < 40 || y1 - y0 < 16 ? " small" : ""}`);
		setAttr(node, "data-heat", heat > 0.3 && share > 0.02 ? (share > 0.3 ? 3 : share > 0.1 ? 2 : 1) : 0);
		setAttr(node, "data-key", `${data.level} ${data.name}`);
		node.disabled = data.level === "others";
		node.hidden = x1 - x0 < 3 || y1 - y0 < 3;
		Object.assign(node.style, { left: `${x0}px`, top: `${y0}px`, width: `${x1 - x0}px`, height: `${y1 - y0}px` });
		const small = x1 - x0 < 40 || y1 - y0 < 16;
		const low = y1 - y0 < 32 || (data.children.length && depth === 1); // one line at most
		setText(node.children[0], small ? "" : visible(short(data)));
		setText(node.children[1], small || x1 - x0 < (low ? 110 : AMOUNT) ? "" : bytes(data.bytes));
		// begins with what can be read in the area: who speaks to the browser says that
		const name = visible(short(data)), whole = visible(data.name);
		const label = `${name} ${bytes(data.bytes)} live, ${(data.bytes / Math.max(root.bytes, 1) * 100).toFixed(1)} %, growth ${bytes(data.growth)}${whole === name ? "" : `, ${whole}`}`;
		setAttr(node, "aria-label", label);
		node.title = label;
	}

	enter(node) {
		const { data } = node;
		if (data.level === "line")
			this.on.open(data.name);
		else if (data.level !== "others")
			this.on.zoom(data.path);
	}

	crumbs(root, group, zoom) {
		const key = JSON.stringify([group, zoom, bytes(root.bytes)]);
		if (key === this.crumbKey)
			return;
		this.crumbKey = key;
		const names = [ALL[group], ...zoom.map(visible)];
		this.path.replaceChildren(...names.flatMap((name, i) => {
			const here = i === names.length - 1;
			return [i ? " \u203a " : "", here ? el("b", {}, name) : el("button", { type: "button", class: "plain", onclick: () => this.on.zoom(zoom.slice(0, i)) }, name)];
		}), ` ${bytes(root.bytes)} live`);
	}

	describe(root) {
		const lines = root.children.slice(0, 20).map((c) => `${visible(c.name)}: ${bytes(c.bytes)} live, growth ${bytes(c.growth)}`);
		while (this.list.children.length > lines.length)
			this.list.lastChild.remove();
		lines.forEach((line, i) => setText(this.list.children[i] || this.list.appendChild(el("li")), line));
	}

	press(event) {
		const all = [...this.box.children].filter((n) => !n.disabled && !n.hidden);
		const i = all.indexOf(document.activeElement);
		const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
		if (i < 0 || !step)
			return;
		event.preventDefault();
		all[(i + step + all.length) % all.length].focus();
	}
}

// A path's last part; names of gems and kinds as they are
function short(data) {
	if (data.level === "kind")
		return data.name;
	if (["gem", "dir", "others"].includes(data.level))
		return data.name.startsWith("/") ? data.name.slice(data.name.lastIndexOf("/", data.name.length - 2) + 1) : data.name;
	return data.name.slice(data.name.lastIndexOf("/") + 1) || data.name;
}
