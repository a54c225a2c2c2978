// SPDX-License-Identifier: GPL-2.0-or-later
// callers.js - the way to who called what: addresses of the flame graph, and a location's
// callers in a few rows.

import { el, setAttr, setText } from "./dom.js";
import { bytes, count, visible } from "./format.js";
import { base, encode, encodeLocation } from "./server.js";

const FRAMES = 4; // of a row, or one more if that is all

// The server links to /flame if it keeps stacks.
export const keepsStacks = () => Boolean(document.querySelector('header nav a[href$="/flame"]'));

// The callers of a location, or of all; times: {from, to} of the growth, or nothing: live bytes
export function flameLink({ location, times }) {
	const query = [...(times ? ["by=growth", ...Object.entries(times).map(([name, t]) => `${name}=${encode(String(t))}`)] : []),
		...(location ? [`location=${encodeLocation(location)}`, "invert=1"] : [])];
	return `${base()}/flame${query.length ? "?" : ""}${query.join("&")}`;
}

// 43 %; the parts never exceed the whole
export function share(part, all) {
	const percent = all ? Math.round(part * 100 / all) : 0;
	return `${part && !percent ? "<1" : percent}\u00a0%`;
}

const place = ({ file, line }) => visible(file && line ? `${file.slice(file.lastIndexOf("/") + 1)}:${line}` : file.slice(file.lastIndexOf("/") + 1));

function chain({ depth, frames }) {
	const n = frames.length > FRAMES + 1 ? FRAMES : frames.length;
	const shown = frames.slice(0, n).flatMap((f, i) => [i ? " \u2190 " : "", visible(f.name), f.file ? el("small", { title: visible(f.line ? `${f.file}:${f.line}` : f.file) }, ` ${place(f)}`) : ""]);
	return el("td", { class: "location" }, "\u00b7 ".repeat(depth), frames.length ? shown : "(no caller is known)",
		frames.length > n ? ` \u2190 ${count(frames.length - n)} more` : "");
}

export class Callers {
	constructor() {
		this.table = el("table", { class: "called" });
		this.note = el("span");
		this.all = el("a", {}, "the flame graph");
		this.grown = el("a", {}, "callers of the growth in this time");
		this.root = el("section", { "aria-label": "Called by", hidden: true }, el("div", { class: "scroll", role: "region", "aria-label": "Callers", tabindex: 0 }, this.table),
			el("p", { class: "note" }, this.note, " All of them: ", this.all, el("span", {}, " \u00b7 ", this.grown)));
	}

	clear() {
		this.root.hidden = true;
		this.table.replaceChildren();
	}

	// times: {from, to} of the growth that is shown, or null
	link(location, times) {
		setAttr(this.all, "href", flameLink({ location }));
		this.grown.parentNode.hidden = !times;
		setAttr(this.grown, "href", times && flameLink({ location, times }));
	}

	// An answer of /at/LOCATION.json
	show({ called_by: called, live_bytes: live, live_samples: sampled, total }) {
		this.root.hidden = !called;
		if (!called)
			return;
		const ofLive = called.by === "live";
		this.table.replaceChildren(el("caption", {}, "Called by"),
			el("thead", {}, el("tr", {}, ["live", "share", "allocated", "samples"].map((t) => el("th", { scope: "col", class: "num" }, t)), el("th", { scope: "col" }, "caller"))),
			el("tbody", {}, called.rows.map((r) => el("tr", {},
				[bytes(r.live_bytes), ofLive ? share(r.live_bytes, live) : share(r.total, total), bytes(r.total), count(ofLive ? r.live_samples : r.samples)].map((t) => el("td", { class: "num" }, t)),
				chain(r)))));
		setText(this.note, `${sampled ? "The sums and how they are divided are" : "The sums are exact. How they are divided is"} estimated from ${count(called.samples)} sample${called.samples === 1 ? "" : "s"}.` +
			(called.more ? ` ${count(called.more)} smaller caller${called.more === 1 ? " isn\u2019t" : "s aren\u2019t"} shown.` : ""));
	}
}
