// SPDX-License-Identifier: GPL-2.0-or-later
// flame_table.js - the same numbers by frame, as a table: to be read, and for those
// who do not see the graph.

import { el, setText, setAttr } from "./dom.js";
import { count, visible } from "./format.js";
import { describe, placeOf, sumFrames } from "./flame_tree.js";
import { BY, errorWords, nodeTitle, percent, signed } from "./flame_words.js";

const FEW = 30, MORE = 200;

export const COLUMNS = [
	{ id: "own", title: "own", about: "Bytes that the frame asked for itself" },
	{ id: "total", title: "total", about: "Bytes that the frame and all it called asked for; a frame that calls itself counts once" },
	{ id: "samples", title: "samples", about: "Samples that the total is estimated from" },
	{ id: "name", title: "frame", text: true, about: "Method, file and line, gem" },
];

// The frames that a tree has below a node: [{f, own, total, samples, name, widest}], in order
export function topFrames(tree, root, { id, descending }) {
	const sums = sumFrames(tree, root), list = [];
	for (let f = 0; f < tree.frames.length; f++)
		if (sums.widest[f] >= 0)
			list.push({ f, own: sums.own[f], total: sums.total[f], samples: sums.samples[f], widest: sums.widest[f], name: describe(tree, f).name });
	const sign = descending ? -1 : 1;
	const key = id === "name" ? (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : (a, b) => a[id] - b[id];
	return list.sort((a, b) => sign * key(a, b) || b.total - a.total || a.f - b.f);
}

export class Top {
	// on: {pick(node)}
	constructor(on) {
		this.on = on;
		this.sort = { id: "own", descending: true };
		this.most = FEW;
		this.caption = el("caption");
		this.headers = COLUMNS.map((c) => el("th", { scope: "col", class: c.text ? null : "num", title: c.about, "data-column": c.id },
			el("button", { type: "button", class: "plain", onclick: () => this.sortBy(c) }, c.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
		this.body = el("tbody");
		this.more = el("button", { type: "button", onclick: () => this.showMore() });
		this.root = el("div", { class: "top-frames" }, el("table", {}, this.caption, el("thead", {}, el("tr", {}, this.headers)), this.body), this.more);
	}

	update(tree, root) {
		if (tree !== this.tree || root !== this.below)
			this.most = FEW;
		this.tree = tree;
		this.below = root;
		this.draw();
	}

	sortBy({ id, text }) {
		const same = this.sort.id === id;
		this.sort = { id, descending: same ? !this.sort.descending : !text };
		this.draw();
	}

	showMore() {
		const next = this.most;
		this.most += MORE;
		this.draw();
		this.body.children[next]?.querySelector("button").focus(); // the button may be gone
	}

	draw() {
		const { tree, below } = this, what = tree.merged ? "groups" : "frames";
		const list = topFrames(tree, below, this.sort);
		setText(this.caption, `${list.length > this.most ? `The first ${this.most} of ${count(list.length)}` : count(list.length)} ${what}, by ${BY[tree.by].noun}` +
			`${below ? `, below ${nodeTitle(tree, below)}` : ""}`);
		COLUMNS.forEach((c, i) => {
			const here = c.id === this.sort.id;
			setAttr(this.headers[i], "aria-sort", here ? (this.sort.descending ? "descending" : "ascending") : null);
			setText(this.headers[i].querySelector(".arrow"), here ? (this.sort.descending ? "\u25be" : "\u25b4") : "");
		});
		this.body.replaceChildren(...list.slice(0, this.most).map((row) => this.row(row)));
		this.more.hidden = list.length <= this.most;
		setText(this.more, `Show ${count(Math.min(MORE, list.length - this.most))} more`);
	}

	row({ f, own, total, samples, widest }) {
		const { tree } = this, at = describe(tree, f);
		const amount = (v) => el("td", { class: `num${tree.by === "growth" ? v > 0 ? " more" : v < 0 ? " less" : "" : ""}`, title: `${count(v)} bytes, ${percent(v, tree.total)} of all` }, signed(tree.by, v));
		return el("tr", {}, amount(own), amount(total), el("td", { class: "num", title: errorWords(samples) }, count(samples)),
			el("td", { class: "frame" }, el("button", { type: "button", class: "plain", title: "Show it in the graph", onclick: () => this.on.pick(widest) }, visible(at.name)),
				tree.merged ? null : el("span", { class: "dim" }, visible(shortPlace(at)))));
	}
}

// The file's last part and the line; the gem says where that is
function shortPlace(at) {
	const place = placeOf(at);
	const file = place.slice(place.lastIndexOf("/") + 1);
	return [file, at.group === file ? "" : at.group].filter(Boolean).join(" \u00b7 ");
}
