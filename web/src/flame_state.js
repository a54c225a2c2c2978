// SPDX-License-Identifier: GPL-2.0-or-later
// flame_state.js - the flame graph's view, as the address of its page, so that it can
// be shared: the query says which tree, the fragment how it is looked at. Pure functions.

import { NATURES } from "./flame_tree.js";

// The times of growth, as the server is asked for them; none: since the last reset
export const ALWAYS = { since: null, from: null, to: null, range: null };
export const isRanged = (query) => Object.keys(ALWAYS).some((name) => query[name] !== null);

// {by, invert, location, since, from, to, range}; a value that can't be understood is ignored
export function parseQuery(search) {
	const p = new URLSearchParams(search);
	const by = p.get("by");
	const times = Object.fromEntries(Object.keys(ALWAYS).map((name) => [name, by === "growth" && p.get(name) || null]));
	return { by: NATURES.includes(by) ? by : "live", invert: ["1", "true", ""].includes(p.get("invert") ?? "no"),
		location: p.get("location") || null, ...times };
}

// "" or "?...", the same for the page and for flame.json
export function formatQuery({ by, invert, location, ...times }) {
	const p = new URLSearchParams();
	for (const [name, value] of [["by", by === "live" ? null : by], ["invert", invert ? "1" : null], ["location", location], ...Object.entries(times)])
		if (value)
			p.set(name, value);
	const s = p.toString();
	return s ? `?${s}` : "";
}

// {q, merge, zoom}: zoom is a node's name (nodeName)
export function parseView(hash) {
	const p = new URLSearchParams(hash.replace(/^#/, ""));
	return { q: p.get("q") || "", merge: p.get("group") === "gem", zoom: /^[0-9a-f]{8}$/.test(p.get("zoom")) ? p.get("zoom") : "" };
}

export function formatView({ q, merge, zoom }) {
	const p = new URLSearchParams();
	for (const [name, value] of [["q", q], ["group", merge ? "gem" : null], ["zoom", zoom]])
		if (value)
			p.set(name, value);
	const s = p.toString();
	return s ? `#${s}` : "";
}
