// SPDX-License-Identifier: GPL-2.0-or-later
// all_columns.js - the columns of /all/'s table, and its view as an address. Pure functions. show(row, unit of life)

import { about, bytesParts, count, lifeParts, DASH } from "./format.js";
import { serverAbout } from "./server_columns.js";

export const GROUPS = ["line", "file", "dir", "gem", "kind"];

export const BARS = ["growth", "live_bytes"]; // columns with bars

export const COLUMNS = [
	{ id: "growth", title: "growth", show: (r) => bytesParts(r.growth), exact: (r) => `${count(r.growth)} bytes` },
	{ id: "live_bytes", title: "live", show: (r) => bytesParts(r.live_bytes), exact: (r) => `${count(r.live_bytes)} bytes` },
	{ id: "live", title: "count", show: (r) => [about(r.live), ""], exact: (r) => `${count(r.live)} blocks` },
	{ id: "processes", title: "processes", show: (r) => [count(r.processes), ""] },
	{ id: "mean_life", title: "life", show: (r, life) => lifeParts(r.mean_life, life) },
	{ id: "kind", title: "kind", kinds: true, show: (r) => [r.kind ?? DASH, ""], exact: (r) => `${count(r.kind_samples || 0)} samples` },
	{ id: "trend", title: "trend", drawn: true, about: "Live bytes of all processes over the time of the plot, each with a height of its own; coloured where a process grows steadily." },
	{ id: "location", title: "location", text: true },
].map((c) => ({ about: serverAbout(c.id), ...c }));

// The table's address: the view of it is in the page's fragment.
export function tableQuery({ sort, order, q, group }, limit) {
	const p = new URLSearchParams();
	p.set("sort", sort);
	for (const [name, value] of [["order", order], ["q", q], ["group", group === "line" ? null : group], ["limit", limit]])
		if (value)
			p.set(name, value);
	return p.toString();
}

export function stateOf(hash) {
	const p = new URLSearchParams(hash.replace(/^#/, ""));
	const known = (name, list, usual) => (list.includes(p.get(name)) ? p.get(name) : usual);
	return { sort: known("sort", COLUMNS.filter((c) => !c.drawn).map((c) => c.id), "growth"), order: known("order", ["asc", "desc"], null),
		q: p.get("q") || "", group: known("group", GROUPS, "line") };
}
