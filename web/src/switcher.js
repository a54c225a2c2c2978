// SPDX-License-Identifier: GPL-2.0-or-later
// switcher.js - the processes of the family, in the header of a live page: one click to
// another one's page. Asked for once, and again while the list is open.

import { el, setText, setAttr } from "./dom.js";
import { bytes } from "./format.js";
import { answers, nameOf } from "./fleet.js";
import { Poll, fetchJSON, mount } from "./poll.js";

const EVERY = 3000;

export class Switcher {
	// pid(): of the process whose page this is; null: none; undefined: not known yet
	constructor(pid) {
		this.pid = pid;
		this.summary = el("summary", {}, "processes");
		this.list = el("ul");
		this.root = el("details", { class: "menu switch", hidden: true }, this.summary, this.list);
		this.poll = new Poll(() => fetchJSON(`${mount()}/family.json`), EVERY, { data: (d) => this.show(d), lost: () => {} });
		this.root.addEventListener("toggle", () => (this.root.open ? this.poll.now() : this.poll.stop()));
		addEventListener("keydown", (e) => {
			if (e.key !== "Escape" || !this.root.open)
				return;
			e.stopImmediatePropagation(); // it is a step back for the page, too
			this.root.open = false;
			this.summary.focus();
		}, true);
		addEventListener("pointerdown", (e) => {
			if (!this.root.contains(e.target))
				this.root.open = false;
		});
	}

	// Into the header, if the family's pages can be reached
	attach(header) {
		if (document.documentElement.dataset.mount === undefined || !header)
			return this;
		header.querySelector("nav")?.after(this.root);
		this.first();
		return this;
	}

	first() {
		if (this.pid() === undefined)
			setTimeout(() => this.first(), 200);
		else
			fetchJSON(`${mount()}/family.json`).then((d) => this.show(d), () => {});
	}

	show({ processes }) {
		const there = processes.filter(answers), here = this.pid();
		this.root.hidden = there.length < 2;
		setText(this.summary, here ? `1 of ${there.length} processes` : `${there.length} processes`);
		const lines = [...there.map((p) => this.line(`${mount()}/${p.pid}/`, nameOf(p), p.pid === here,
			`pid ${p.pid} \u00b7 RSS ${bytes(p.rss_bytes)} \u00b7 live ${bytes(p.live_bytes)}${p.outlier ? ` \u00b7 stands out by ${p.outlier}` : ""}`, p.outlier)),
			this.line(`${mount()}/family`, "Side by side", false, "all of them, compared"),
			this.line(`${mount()}/all/`, "All together", false, "the sum of their tables")];
		const focused = this.list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
		this.list.replaceChildren(...lines);
		if (focused)
			[...this.list.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
	}

	line(href, name, here, about, out) {
		const link = el("a", { href }, el("b", {}, name), el("span", { class: out ? "warning" : "dim" }, about));
		setAttr(link, "aria-current", here ? "true" : null);
		return el("li", {}, link);
	}
}
