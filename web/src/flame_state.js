// SPDX-License-Identifier: GPL-2.0-or-later
// flame_state.js - the flame graph's view, as the address of its page, so that it can
// be shared: the query says which tree, the fragment how it is looked at. Pure functions.

import { NATURES } from "./flame_tree.js";

// The times of growth, as the server is asked for them; none: since the last reset
export const ALWAYS = { since: null, from: null, to: null, range: null };
export const isRanged = (query) => Object.keys(ALWAYS).some((name) => query[name] !== null);

const FRAMES = ["ruby", "all"]; // else native frames without a name are folded

// The choices of a moment from which on growth counts
export const SINCE = {
	reset: { title: "since the reset", query: {} },
	mark: { title: "since the mark", query: { since: "mark" } },
	peak: { title: "since the peak", query: { from: "peak" } },
	"15m": { title: "last 15 minutes", query: { range: "15m" } },
	"1h": { title: "last hour", query: { range: "1h" } },
	"6h": { title: "last 6 hours", query: { range: "6h" } },
	"24h": { title: "last 24 hours", query: { range: "24h" } },
	other: { title: "other times" },
};

export const sinceName = (query) => Object.keys(SINCE).find((name) => SINCE[name].query && Object.keys(ALWAYS).every((key) => query[key] === (SINCE[name].query[key] ?? null))) ?? "other";

// {by, invert, location, label, frames, startup, since, from, to, range}; a value that can't be understood is ignored
export function parseQuery(search) {
	const p = new URLSearchParams(search);
	const by = p.get("by");
	const times = Object.fromEntries(Object.keys(ALWAYS).map((name) => [name, by === "growth" && p.get(name) || null]));
	return { by: NATURES.includes(by) ? by : "live", invert: ["1", "true", ""].includes(p.get("invert") ?? "no"),
		location: p.get("location") || null, ...(p.get("label") && { label: p.get("label") }),
		...(FRAMES.includes(p.get("frames")) && { frames: p.get("frames") }), ...(p.get("startup") === "hide" && { startup: "hide" }), ...times };
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

// The same tree in a form for another viewer, which has neither growth nor one location
export const exportQuery = ({ by, label, frames, startup }) => formatQuery({ by: by === "growth" ? "live" : by, label, frames, startup });

const NAME = /^[0-9a-f]{8}$/;

// {q, merge, zoom, frame}: zoom is a node's name (nodeName), frame that of a frame between its callers and callees (frameHash)
export function parseView(hash) {
	const p = new URLSearchParams(hash.replace(/^#/, ""));
	return { q: p.get("q") || "", merge: p.get("group") === "gem", zoom: NAME.test(p.get("zoom")) ? p.get("zoom") : "",
		...(NAME.test(p.get("frame")) && { frame: p.get("frame") }) };
}

export function formatView({ q, merge, zoom, frame }) {
	const p = new URLSearchParams();
	for (const [name, value] of [["q", q], ["group", merge ? "gem" : null], ["zoom", zoom], ["frame", frame]])
		if (value)
			p.set(name, value);
	const s = p.toString();
	return s ? `#${s}` : "";
}
