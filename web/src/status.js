// SPDX-License-Identifier: GPL-2.0-or-later
// status.js - the process, whether it is there, and the server's
// warnings. In the page's header, beside the controls.

import { el, setText, setAttr } from "./dom.js";
import { clock, duration, visible } from "./format.js";

const DOT = " \u00b7 ";

export class Status {
	constructor() {
		this.command = el("span");
		this.between = el("span");
		this.facts = el("span");
		this.light = el("p", { class: "light", role: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), el("span"));
		this.notes = el("div", { class: "notes" });
		this.since = null;
		this.why = null;
		this.show("loading", "loading");
	}

	attach(header, controls) {
		this.process = header.querySelector(".process");
		if (this.process) {
			setText(this.command, this.process.textContent);
			this.process.replaceChildren(this.command, this.between, this.facts);
			this.process.addEventListener("pointerenter", () => this.cut());
			const sizes = new ResizeObserver(() => this.cut());
			[this.command, this.facts].forEach((n) => sizes.observe(n));
		}
		header.append(el("div", { class: "now" }, this.light, controls));
	}

	// If it is cut, its title has all of it, and it has all of it when it is focused.
	cut() {
		const { process } = this;
		if (process === document.activeElement)
			return;
		const cut = [this.command, this.facts].some((n) => n.scrollWidth > n.clientWidth);
		setAttr(process, "title", cut ? process.textContent : null);
		setAttr(process, "tabindex", cut ? 0 : null);
	}

	show(state, text) {
		setAttr(this.light, "data-state", state);
		setText(this.light.lastChild, text);
	}

	hello() {
		this.since = this.why = null;
	}

	lost(why, hello) {
		this.since ??= Date.now() / 1000;
		this.why = why;
		const kept = hello ? "; last data kept" : "; this is the page as it was made";
		if (why)
			this.show("refused", `not live: ${why}${kept}`);
		else if (hello)
			this.show("gone", `pid ${hello.pid} ended at ${clock(this.since)}, or can\u2019t be reached; last data kept`);
		else
			this.show("gone", `no live data${kept}`);
	}

	update(hello, point, away) {
		if (hello && this.process) {
			const parts = [`pid ${hello.pid}`, `up ${duration(point ? point.t : hello.uptime)}`,
				hello.ruby ? `ruby ${hello.ruby}` : "no Ruby", hello.read_only && "read-only"];
			setText(this.command, visible(hello.title || ""));
			setText(this.between, hello.title ? DOT : "");
			setText(this.facts, parts.filter(Boolean).join(DOT));
		}
		if (!away && hello)
			this.show(point?.paused ? "paused" : "live", point?.paused ? "paused" : "live");
		this.warn(point?.warnings || []);
	}

	warn(warnings) {
		const key = JSON.stringify(warnings);
		if (key === this.warned)
			return;
		this.warned = key;
		this.notes.replaceChildren(...warnings.map((w) => el("p", { class: "warning" }, visible(w))));
	}
}
