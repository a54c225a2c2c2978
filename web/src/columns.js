// SPDX-License-Identifier: GPL-2.0-or-later
// columns.js - the columns of the table: what they are called, what they say,
// and how a value is read. Explanations are those of the server's pages.

import { bytesParts, count, small, about, DASH } from "./format.js";

const meanLife = (rows, i) => (rows.frees[i] ? rows.lifeSum[i] / rows.frees[i] : -1);

function lifeParts(v, unit) {
	return v < 0 ? [DASH, ""] : unit === "bytes" ? bytesParts(v) : [small(v), ""];
}

// get(rows, slot) is what is sorted by; parts(value, unit of life) what is shown.
// kinds: only if the process keeps stacks. wide: rem; short, slim: the same on half a screen, and on a narrow one. bar: the tone of the bar behind it. on: shown unless the user chose others.
export const COLUMNS = [
	{ id: "growth", title: "growth", wide: 12.5, short: 9, slim: 5.6, bar: "growth", on: true, signed: true,
		about: "Bytes live now less those live at the moment that the header names; a location that only ever grows is where to look for a leak.",
		get: (r, i) => r.grown[i], parts: bytesParts, exact: (v) => (v === v ? `${count(v)} bytes` : "not known over this time") },
	{ id: "live_bytes", title: "live", wide: 7.5, bar: "live", on: true,
		about: "Bytes allocated here and not freed yet, whatever was reset.",
		get: (r, i) => r.liveBytes[i], parts: bytesParts, exact: (v) => `${count(v)} bytes` },
	{ id: "live", title: "count", wide: 5.5, on: true,
		about: "Blocks allocated here and not freed yet, whatever was reset.",
		get: (r, i) => r.live[i], parts: (v) => [about(v), ""], exact: (v) => `${count(v)} blocks` },
	{ id: "rate", title: "alloc/s", wide: 5.5, on: true,
		about: "Allocations a second, over the last ten seconds.",
		get: (r, i) => r.rate[i], parts: (v) => [small(v), ""], exact: (v) => `${small(v)} allocations a second` },
	{ id: "total", title: "total", wide: 6.5,
		about: "Bytes allocated here since the start or the last reset.",
		get: (r, i) => r.total[i], parts: bytesParts, exact: (v) => `${count(v)} bytes` },
	{ id: "allocations", title: "allocations", wide: 7,
		about: "Allocating calls since the start or the last reset.",
		get: (r, i) => r.allocations[i], parts: (v) => [about(v), ""], exact: count },
	{ id: "frees", title: "frees", wide: 7,
		about: "Blocks of this location freed since the start or the last reset; after a reset there may be more of them than allocations.",
		get: (r, i) => r.frees[i], parts: (v) => [about(v), ""], exact: count },
	{ id: "mean_life", title: "life", wide: 5, on: true, life: true,
		about: "Mean lifespan of the freed blocks, in garbage collections (without Ruby: in bytes allocated meanwhile); a dash if none was freed.",
		get: meanLife, parts: lifeParts, exact: (v) => (v < 0 ? "none was freed" : small(v)) },
	{ id: "max_life", title: "max life", wide: 5.5, life: true,
		about: "Longest lifespan of a freed block, in the same unit.",
		get: (r, i) => r.lifeMax[i], parts: lifeParts, exact: small },
	{ id: "kind", title: "kind", wide: 12.75, slim: 8, on: true, kinds: true,
		about: "What most of the live bytes are of, and how much of them; estimated from samples.",
		get: (r, i) => r.kindKey(i), parts: (v, unit, r) => r.kinds.shown(v),
		exact: (v, r, i) => (v === v ? `${r.kinds.shown(v).join(" ")}, from ${count(r.kindSamples(i))} samples` : "no stack") },
	{ id: "trend", title: "trend", wide: 7, on: true, drawn: true,
		about: "Live bytes over the time shown, each with a height of its own; sorted: what grows steadily over that time, then the rest by live bytes; the other way round, what shrinks comes first.",
		get: (r, i, descending) => r.order(i, descending) },
	{ id: "location", title: "location", wide: 0, on: true, text: true, fixed: true,
		about: "Ruby file and line, or native module with symbol and offset, that called the allocator.",
		get: (r, i) => r.location[i] },
];

export const column = (id) => COLUMNS.find((c) => c.id === id);

// Which columns are shown: the user's choice or the usual ones; stacks: the process keeps some, so that it
// knows kinds
export const shown = (chosen, stacks) => COLUMNS.filter((c) => (stacks || !c.kinds) && (c.fixed || (chosen ? chosen.includes(c.id) : c.on)));

export const defaultColumns = (stacks) => shown(null, stacks).map((c) => c.id);
