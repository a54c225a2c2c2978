// SPDX-License-Identifier: GPL-2.0-or-later
// state.js - the view of the table, and the same as the URL: a location's path, and the fragment, so
// that a view can be kept and shared. Only unusual values are in the URL; it
// ignores values there that it can't understand.

import { COLUMNS, defaultColumns } from "./columns.js";
import { GROUPS } from "./group.js";

export const RANGES = { "15m": 900, "1h": 3600, "6h": 21600, "24h": 86400, all: Infinity };
export const SHOWN = "15m"; // when none was chosen: the sentence is about all times then

export const usual = () => ({
	sort: null,      // a column's id; null: the fastest growth, or the growth since a mark or in a part of the time
	desc: null,      // null: as that column has it
	q: "",
	group: "line",
	columns: null,   // ids; null: the usual ones
	range: null,     // one of RANGES
	from: null,      // a part of the time, in seconds of uptime; an impossible one is kept, to say so
	to: null,
	view: "table",   // or "map"
	zoom: [],        // treemap: names of the gem and the file looked into
	at: null,        // the location being looked at
});

// at: the location that the path names, or null; #at= of a fragment comes first, as older links have it
export function parseState(hash, at = null) {
	const state = { ...usual(), at };
	let p;
	try {
		p = new URLSearchParams(hash.replace(/^#/, ""));
	} catch {
		return state;
	}
	const ids = COLUMNS.map((c) => c.id);
	if (ids.includes(p.get("sort")))
		state.sort = p.get("sort");
	if (state.sort && ["asc", "desc"].includes(p.get("order")))
		state.desc = p.get("order") === "desc";
	state.q = p.get("q") || "";
	if (GROUPS.includes(p.get("group")))
		state.group = p.get("group");
	if (p.has("columns"))
		state.columns = p.get("columns").split(" ").filter((id) => ids.includes(id));
	if (Object.hasOwn(RANGES, p.get("range")))
		state.range = p.get("range");
	const [, from, to] = (/^(\d+)-(\d+)$/.exec(p.get("time")) || []).map(Number);
	if (from >= 0) {
		state.from = from;
		state.to = to;
	}
	if (p.get("view") === "map")
		state.view = "map";
	state.zoom = p.getAll("zoom").slice(0, 2);
	state.at = p.get("at") || at;
	return state;
}

// The times shown, in uptime: a part that was selected, or the last minutes
export function span(state, now) {
	if (state.from !== null)
		return [state.from, Math.max(state.to, state.from + 1)];
	return [Math.max(0, Math.min(now - RANGES[state.range || SHOWN], now - 10)), Math.max(now, 1)];
}

// The same as a question to the server; nothing: all times
export function asked(state) {
	if (state.from !== null)
		return `from=${state.from}&to=${state.to}`;
	return state.range ? `range=${state.range}` : "";
}

// "" or "#...", behind the path of state.at
export function formatState(state) {
	const p = new URLSearchParams();
	const set = (name, value, is) => is && p.set(name, value);
	set("view", state.view, state.view !== "table");
	for (const name of state.view === "map" ? state.zoom : [])
		p.append("zoom", name);
	set("q", state.q, state.q);
	set("group", state.group, state.group !== "line");
	set("sort", state.sort, state.sort);
	set("order", state.desc ? "desc" : "asc", state.sort && state.desc !== null);
	const same = !state.columns || state.columns.join() === defaultColumns().join();
	set("columns", (state.columns || []).join(" "), !same);
	set("range", state.range, state.range);
	set("time", `${state.from}-${state.to}`, state.from !== null);
	const s = p.toString();
	return s ? `#${s}` : "";
}
