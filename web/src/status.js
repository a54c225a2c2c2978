// SPDX-License-Identifier: GPL-2.0-or-later
// status.js - which process this is, whether it is there, and what the server
// warns of. In the page's header, beside the controls.

import { el, setText, setAttr } from "./dom.js";
import { clock, duration, visible } from "./format.js";

export class Status {
	constructor() {
		this.light = el("p", { class: "light", role: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), el("span"));
		this.notes = el("div", { class: "notes" });
		this.since = null;
		this.why = null;
		this.show("loading", "loading");
	}

	attach(header, controls) {
		this.process = header.querySelector(".process");
		// all of it, if it is cut
		this.process?.addEventListener("pointerenter", ({ target: p }) =>
			setAttr(p, "title", p.scrollWidth > p.clientWidth || p.scrollHeight > p.clientHeight ? p.textContent : null));
		header.append(el("div", { class: "now" }, this.light, controls));
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
			const parts = [hello.title && visible(hello.title), `pid ${hello.pid}`, `up ${duration(point ? point.t : hello.uptime)}`,
				hello.ruby ? `ruby ${hello.ruby}` : "no Ruby", hello.read_only && "read-only"];
			setText(this.process, parts.filter(Boolean).join(" \u00b7 "));
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
