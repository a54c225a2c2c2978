// SPDX-License-Identifier: GPL-2.0-or-later
// flame_state.js - what the flame graph shows, as the address of its page, so that it can
// be shared: the query says which tree, the fragment how it is looked at. Pure functions.

import { NATURES } from "./flame_tree.js";

// {by, invert, location, since}; what can't be understood is as if it weren't there
export function parseQuery(search) {
	const p = new URLSearchParams(search);
	const by = p.get("by");
	return { by: NATURES.includes(by) ? by : "live", invert: ["1", "true", ""].includes(p.get("invert") ?? "no"),
		location: p.get("location") || null, since: p.get("since") || null };
}

// "" or "?...", the same for the page and for flame.json
export function formatQuery({ by, invert, location, since }) {
	const p = new URLSearchParams();
	for (const [name, value] of [["by", by === "live" ? null : by], ["invert", invert ? "1" : null], ["location", location], ["since", since]])
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
