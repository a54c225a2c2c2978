// SPDX-License-Identifier: GPL-2.0-or-later
// memory_page.js - the live blocks of a page: the panel beside the map.

import { el, setAttr } from "./dom.js";
import { bytes, count, visible, DASH } from "./format.js";

export class PagePanel {
	// links: {at(location)}; closed(): it was closed
	constructor(links, closed) {
		this.links = links;
		this.turn = 0;
		this.title = el("h2", { tabindex: -1 });
		this.body = el("div", { class: "scroll", role: "region", "aria-label": "Blocks in this page", tabindex: 0 });
		this.said = el("p", { class: "note", role: "status" });
		this.root = el("aside", { class: "who-lives", "aria-label": "Live blocks in this page", hidden: true },
			el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.close() }, "\u00d7"), this.title, this.said, this.body);
		this.closed = closed;
		this.root.addEventListener("keydown", (e) => {
			if (e.key !== "Escape")
				return;
			e.stopPropagation();
			this.close();
		});
	}

	hide() {
		this.turn++;
		this.root.hidden = true;
	}

	close() {
		this.hide();
		this.closed();
	}

	// ask(): a promise of what /map/page/ADDR says; side: "left" or "right" of the map; words: what the map says of it
	async show(address, ask, side, words) {
		const turn = ++this.turn;
		this.root.hidden = false;
		setAttr(this.root, "data-side", side);
		this.title.textContent = `Page ${address}`;
		this.said.textContent = words;
		this.body.replaceChildren();
		try {
			const page = await ask();
			if (turn === this.turn)
				this.fill(page, words);
		} catch (e) {
			if (turn === this.turn)
				this.said.textContent = e.status ? e.message : "No answer: the process may have ended.";
		}
	}

	fill({ blocks, more, live_bytes: live, state }, words) {
		const n = blocks.length + more;
		this.said.textContent = `${words}. ${n ? `${count(n)} block${n === 1 ? "" : "s"} with ${bytes(live)} of this page.` : state === "ruby" ? "It is of Ruby\u2019s heap: no block of malloc." : "No live block is there now."}`;
		if (!n)
			return;
		this.body.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "num" }, "size"), el("th", { scope: "col", class: "num", title: "Garbage collections before it was allocated" }, "generation"), el("th", { scope: "col" }, "line"))),
			el("tbody", {}, blocks.map((b) => el("tr", { title: b.address }, el("td", { class: "num" }, bytes(b.size)), el("td", { class: "num" }, b.generation === null || b.generation === undefined ? DASH : count(b.generation)),
				el("td", { class: "location" }, b.location ? el("a", { href: this.links.at(b.location) }, visible(b.location)) : "(not known any more)"))))));
		if (more)
			this.body.append(el("p", { class: "note" }, `and ${count(more)} more`));
	}
}
