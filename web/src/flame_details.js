// SPDX-License-Identifier: GPL-2.0-or-later
// flame_details.js - the frame that is pointed at or focused, in words above the graph.

import { el, setText, setAttr } from "./dom.js";
import { visible } from "./format.js";
import { frameOf, locationOf, placeOf } from "./flame_tree.js";
import { amountWords, kindWords, nodeTitle } from "./flame_words.js";

export class Details {
	// links: see Flame; only(location): shows the stacks of one line; between(frame): its callers and callees
	constructor(links, only, between) {
		this.links = links;
		this.only = only;
		this.between = el("button", { type: "button", title: "All that called this frame, and all that it called (s)", "data-action": "between", onclick: () => between(this.frame) }, "callers and callees");
		this.name = el("b");
		this.place = el("span", { class: "place" });
		this.kind = el("span", { class: "dim" });
		this.amounts = el("span", { class: "amounts" });
		this.root = el("div", { class: "details" }, el("p", {}, this.name, this.place, this.kind, this.between), el("p", {}, this.amounts));
	}

	show(tree, node, zoom) {
		if (!tree)
			return;
		const at = frameOf(tree, node), place = at && !tree.merged ? placeOf(at) : "", here = locationOf(tree, node);
		this.frame = tree.frame[node];
		this.between.hidden = this.frame < 0 || (tree.part && !node);
		setText(this.name, nodeTitle(tree, node));
		setText(this.kind, kindWords(tree, node));
		setText(this.amounts, amountWords(tree, node, zoom).join(" \u00b7 "));
		setAttr(this.place, "title", visible(place) || null);
		if (!here || !this.links)
			return setText(this.place, short(place));
		if (this.shown === here && this.place.firstElementChild)
			return;
		this.shown = here;
		this.place.replaceChildren(el("a", { href: this.links.at(here), title: `${visible(here)}: the line\u2019s own page` }, short(here)),
			tree.location ? "" : el("button", { type: "button", title: "Only the stacks that end at this line", onclick: () => this.only(here) }, "only this line"));
	}
}

// Below a folder of gems a path begins with the gem
function short(place) {
	const gems = place.lastIndexOf("/gems/");
	return visible(gems < 0 ? place : place.slice(gems + 6));
}
