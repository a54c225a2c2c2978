// SPDX-License-Identifier: GPL-2.0-or-later
// memory_tables.js - the memory map's parts beside the picture: the sentence, the bar of parts, the legend, and the
// tables of panels, mappings and differences.

import { el } from "./dom.js";
import { bytes, clock, visible, MINUS } from "./format.js";
import { differenceWords, differences, legend, partTitle, stressed } from "./memory_words.js";

const LABEL_ROOM = 10; // pixels around a part's label

const signed = (n) => (n > 0 ? `+${bytes(n)}` : n < 0 ? `${MINUS}${bytes(-n)}` : bytes(0));

export function sentence(json) {
	return el("p", { class: "sentence" }, stressed(json.sentence).map(([text, amount]) => (amount ? el("b", {}, text) : text)));
}

export const advice = (json) => (json.advice.length ? el("ul", { class: "advice" }, json.advice.map((text) => el("li", {}, text))) : null);

export function bar(json) {
	const parts = json.parts.filter((p) => p.bytes > 0);
	const pieces = parts.map((p) => {
		const piece = el("span", { "data-part": p.name, title: partTitle(p, json.seen_bytes) }, el("span", {}, `${p.title} ${bytes(p.bytes)}`));
		piece.style.flexGrow = p.bytes;
		return piece;
	});
	// a label is whole, or in the list below the bar
	const below = parts.map((p) => el("li", { hidden: true }, el("i", { "data-part": p.name }), `${p.title} ${bytes(p.bytes)}`));
	new ResizeObserver(() => {
		pieces.forEach((piece) => { piece.firstChild.hidden = false; });
		const cut = pieces.map((piece) => piece.firstChild.offsetWidth + LABEL_ROOM > piece.clientWidth);
		pieces.forEach((piece, i) => { piece.firstChild.hidden = cut[i]; });
		below.forEach((item, i) => { item.hidden = !cut[i]; });
	}).observe(pieces[0] ?? document.body);
	return el("div", {}, el("div", { class: "memory-bar", role: "img", "aria-label": parts.map((p) => partTitle(p, json.seen_bytes)).join("; ") }, pieces),
		el("ul", { class: "memory-key", "aria-label": "Parts" }, below));
}

export const key = (json) => el("ul", { class: "memory-key", "aria-label": "Legend" }, legend(json).map(([name, text]) => el("li", {}, el("i", { "data-state": name }), text)));

const head = (titles) => el("thead", {}, el("tr", {}, titles.map(([title, number]) => el("th", { scope: "col", class: number ? "num" : null }, title))));
const cell = (text) => el("td", { class: "num" }, text);
const scroll = (label, ...children) => el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, ...children);
const folded = (title, node) => el("details", {}, el("summary", {}, title), node);

export function partsTable(json) {
	return folded("The parts as a table", scroll("Parts", el("table", { class: "parts" }, head([["bytes", true], ["", true], ["part", false]]),
		el("tbody", {}, json.parts.filter((p) => p.bytes).map((p) => el("tr", {}, cell(bytes(p.bytes)), cell(json.seen_bytes ? `${Math.round(p.bytes / json.seen_bytes * 100)}\u00a0%` : ""), el("td", {}, el("i", { "data-part": p.name }), p.title)))))));
}

export function panelsTable(json) {
	return folded("The panels as a table", scroll("Panels", el("table", { class: "panels" }, head([["in memory", true], ["live", true], ["begins at", false], ["panel", false]]),
		el("tbody", {}, json.panels.map((p) => el("tr", {}, cell(bytes(p.resident_bytes)), cell(bytes(p.live_bytes)), el("td", { class: "address" }, p.spans[0]?.[0] ?? ""), el("td", {}, visible(p.name))))))));
}

export function mappingsTable(json, links) {
	if (!json.mappings.length)
		return null;
	return el("section", { "aria-label": "Memory from mmap" }, el("h2", {}, "Memory from mmap, of 64 KiB and more, outside malloc"),
		scroll("Mappings", el("table", { class: "mappings" }, head([["bytes", true], ["in memory", true], ["from", false], ["caller", false]]), el("tbody", {}, json.mappings.map((m) =>
			el("tr", {}, cell(bytes(m.bytes)), cell(bytes(m.resident_bytes)), el("td", { class: "address" }, m.from), el("td", { class: "location" }, links && m.location ? el("a", { href: links.at(m.location) }, visible(m.location)) : visible(m.location || "(not known)"))))))));
}

// Two snapshots: a sentence, and the parts that differ beside one another
export function comparison(before, after) {
	const rows = [{ title: "in memory", before: before.rss_bytes, after: after.rss_bytes, change: after.rss_bytes - before.rss_bytes }, ...differences(before, after).filter((d) => d.change)];
	return el("section", { class: "difference", "aria-label": "Two snapshots compared" }, el("h2", {}, "Two snapshots compared"), el("p", { class: "sentence", role: "status" }, differenceWords(before, after)),
		scroll("Differences", el("table", {}, head([["part", false], [clock(before.unix, true), true], [clock(after.unix, true), true], ["difference", true]]),
			el("tbody", {}, rows.map((r) => el("tr", {}, el("td", {}, r.title), cell(bytes(r.before)), cell(bytes(r.after)), cell(signed(r.change))))))));
}
