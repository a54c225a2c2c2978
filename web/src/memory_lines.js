// SPDX-License-Identifier: GPL-2.0-or-later
// memory_lines.js - the table of the lines that keep pages. Those that are selected light up in the map.

import { el, setText, setAttr } from "./dom.js";
import { bytes, count, visible } from "./format.js";
import { times } from "./memory_words.js";

const FIRST = 25; // rows, before somebody asks for all
const MUCH = 5;   // times its own bytes: said in bold

const COLUMNS = [
	["live", "Bytes of its live blocks"],
	["holds", "Its own bytes, and its share of the holes beside them: the sum over all lines is what part-filled pages take"],
	["\u00d7", "How many times its own bytes it holds"],
	["alone on pages of", "Pages in which no other line has a block: without this one they would be empty"],
	["blocks", "Live blocks"],
];

export class Lines {
	// links: {at(location)} or null; chosen(locations): the selection changed
	constructor(links, chosen) {
		this.links = links;
		this.chosen = chosen;
		this.selected = new Set();
		this.body = el("tbody");
		this.more = el("button", { type: "button", onclick: () => this.showAll() });
		this.words = el("span", { role: "status" });
		this.clear = el("button", { type: "button", "data-action": "clear", onclick: () => this.select([]) }, "Clear selection");
		this.root = el("section", { class: "lines", "aria-label": "Lines that keep pages" }, el("h2", {}, "Lines by the memory that they hold"),
			el("p", { class: "note" }, "A line holds its own bytes and its share of the holes beside them. Select lines: their pages light up in the map."),
			el("p", { class: "chosen" }, this.words, this.clear),
			el("div", { class: "scroll", role: "region", "aria-label": "Lines", tabindex: 0 }, el("table", { class: "rows" },
				el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", { class: "unseen" }, "selected")), COLUMNS.map(([title, about]) => el("th", { scope: "col", class: "num", title: about }, title)), el("th", { scope: "col" }, "line"))), this.body)),
			el("p", {}, this.more));
	}

	// Selected lines stay selected if they are still in the table.
	take(lines) {
		this.lines = lines;
		this.selected = new Set([...this.selected].filter((at) => lines.some((l) => l.location === at)));
		this.draw();
	}

	showAll() {
		this.whole = true;
		const from = this.body.children.length;
		this.draw();
		this.body.children[from]?.querySelector("input").focus();
	}

	draw() {
		const shown = this.whole ? this.lines : this.lines.slice(0, FIRST);
		this.body.replaceChildren(...shown.map((line) => this.row(line)));
		if (!shown.length)
			this.body.append(el("tr", {}, el("td", { class: "empty", colspan: COLUMNS.length + 2 }, "No line has live blocks.")));
		this.more.hidden = shown.length === this.lines.length;
		setText(this.more, `All ${count(this.lines.length)} lines`);
		this.update();
	}

	row({ location, live_bytes: live, holds_bytes: holds, alone_bytes: alone, blocks }) {
		const name = visible(location), ratio = times(holds, live);
		const box = el("input", { type: "checkbox", "aria-label": `Light up ${name}`, onchange: () => this.toggle(location, box.checked) });
		box.checked = this.selected.has(location);
		return el("tr", { "data-selected": box.checked || null }, el("td", {}, box), [bytes(live), bytes(holds), live && holds / live >= MUCH ? el("b", {}, ratio) : ratio, bytes(alone), count(blocks)].map((t) => el("td", { class: "num" }, t)),
			el("td", { class: "location" }, this.links ? el("a", { href: this.links.at(location) }, name) : name));
	}

	toggle(location, on) {
		this.selected[on ? "add" : "delete"](location);
		this.update();
		this.chosen([...this.selected]);
	}

	select(locations) {
		this.selected = new Set(locations);
		this.draw();
		this.chosen(locations);
	}

	update() {
		const n = this.selected.size, chosen = this.lines.filter((l) => this.selected.has(l.location)), sum = (name) => chosen.reduce((s, l) => s + l[name], 0);
		[...this.body.children].forEach((tr, i) => setAttr(tr, "data-selected", this.selected.has(this.lines[i]?.location) ? "" : null));
		this.clear.hidden = !n;
		setText(this.words, n ? `${count(n)} line${n === 1 ? "" : "s"} selected: ${bytes(sum("live_bytes"))} in ${count(sum("blocks"))} blocks hold ${bytes(sum("holds_bytes"))}.` : "");
	}
}
