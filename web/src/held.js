// SPDX-License-Identifier: GPL-2.0-or-later
// held.js - the holders of a location's blocks, looked up when the user asks: the process forks a child for it.

import { el, setAttr, setText } from "./dom.js";
import { bytes, count, visible } from "./format.js";
import { getJSON } from "./server.js";

const ROWS = 10;

// A table of holders: of blocks, or of Ruby's objects
function fill(table, rows, n, amount) {
	const what = n === "objects" ? "Referrers of the Ruby objects made here" : "Holders, most blocks first";
	const head = [["Holder"], ["Held by"], [n === "objects" ? "Objects" : "Blocks", "num"], ["Bytes", "num"], ["Path"]];
	table.replaceChildren(el("caption", {}, rows.length > ROWS ? `The first ${ROWS} of ${count(rows.length)} holders` : what),
		el("thead", {}, el("tr", {}, head.map(([text, type]) => el("th", { scope: "col", class: type }, text)))),
		el("tbody", {}, rows.slice(0, ROWS).map((r) => el("tr", {}, el("td", { class: "location" }, visible(r.holder)), el("td", {}, r.by),
			el("td", { class: "num" }, count(r[n])), el("td", { class: "num" }, bytes(r[amount])),
			el("td", { class: "location" }, r.path.map(visible).join(" \u2192 "))))));
	table.hidden = !rows.length;
}

export class Held {
	constructor() {
		this.button = el("button", { type: "button", onclick: () => this.ask() });
		this.said = el("span", { role: "status" });
		this.all = el("a", {}, "All of it on a page of its own");
		this.table = el("table", { class: "rows" });
		this.objects = el("table", { class: "rows" });
		this.found = el("div", { class: "scroll", role: "region", "aria-label": "Holders", tabindex: 0, hidden: true }, this.objects, this.table);
		this.root = el("section", { class: "held", "aria-label": "Held by" },
			el("p", {}, this.button, " ", this.said), this.found,
			el("p", { class: "note" }, "A Ruby object, native memory, or nothing, which is a native leak. A forked child looks it up. ", this.all, "."));
		this.clear();
	}

	// query: "?location=..." for /holders; base: what comes before that
	about(base, query) {
		this.query = query;
		setAttr(this.all, "href", `${base}/holders${query}`);
		this.clear();
	}

	clear() {
		this.turn = {};
		this.asking = false;
		this.found.hidden = true;
		setText(this.button, "Find holders");
		setText(this.said, "");
		setAttr(this.root, "aria-busy", null);
	}

	async ask() {
		if (this.asking)
			return;
		const turn = this.turn;
		this.asking = true;
		setText(this.said, "Looking\u2026");
		setAttr(this.root, "aria-busy", "true");
		let answer, why;
		try {
			answer = await getJSON(`/holders.json${this.query}`);
		} catch (e) {
			why = e.status ? e.message : "nobody answers";
		}
		if (turn !== this.turn)
			return; // another location by now
		this.asking = false;
		setAttr(this.root, "aria-busy", null);
		setText(this.button, "Look again");
		if (answer)
			this.show(answer.rows, answer.object_rows ?? []);
		else
			setText(this.said, `The holders aren\u2019t known: ${visible(why)}.`);
	}

	show(rows, objects) {
		const sum = (name, of) => of.reduce((n, r) => n + r[name], 0);
		const all = sum("blocks", rows), lost = rows.filter((r) => r.by === "nothing"), n = sum("blocks", lost);
		setText(this.said, `${count(all)} ${all === 1 ? "block is" : "blocks are"} live. ${count(n)} of them ${n === 1 ? "is" : "are"} held by nothing` +
			(n ? `, ${bytes(sum("bytes", lost))}: a native leak.` : "."));
		fill(this.table, rows, "blocks", "bytes");
		fill(this.objects, objects, "objects", "object_bytes");
		this.table.hidden = !rows.length;
		this.found.hidden = !rows.length && !objects.length;
	}
}
