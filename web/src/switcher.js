// SPDX-License-Identifier: GPL-2.0-or-later
// switcher.js - the processes of the family, in the header of a live page: one click to
// another one's page. Asked for once, and again while the list is open.

import { el, setText, setAttr } from "./dom.js";
import { bytes } from "./format.js";
import { answers, nameOf, numberOf } from "./fleet.js";
import { menu } from "./menu.js";
import { Poll, fetchJSON, mount } from "./poll.js";

const EVERY = 3000;

export class Switcher {
	// pid(): of the process whose page this is; null: none; undefined: not known yet
	constructor(pid) {
		this.pid = pid;
		this.summary = el("summary", {}, "processes");
		this.list = el("ul");
		this.root = menu("switch", this.summary, this.list);
		this.root.hidden = true;
		this.poll = new Poll(() => fetchJSON(`${mount()}/family.json`), EVERY, { data: (d) => this.show(d), lost: () => {} });
		this.root.addEventListener("toggle", () => (this.root.open ? this.poll.now() : this.poll.stop()));
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
		const here = this.pid();
		this.root.hidden = processes.length < 2;
		setText(this.summary, here ? `1 of ${processes.length} processes` : numberOf(processes));
		const lines = [...processes.map((p) => this.line(answers(p) ? `${mount()}/${p.pid}/` : null, nameOf(p), p.pid === here,
			!answers(p) ? `${p.pid ? `pid ${p.pid} \u00b7 ` : ""}${p.state}` : `pid ${p.pid} \u00b7 RSS ${bytes(p.rss_bytes)} \u00b7 live ${bytes(p.live_bytes)}${p.outlier ? ` \u00b7 stands out by ${p.outlier}` : ""}`, p.outlier || !answers(p))),
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
