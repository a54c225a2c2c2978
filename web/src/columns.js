// SPDX-License-Identifier: GPL-2.0-or-later
// columns.js - the columns of the table: their names and explanations,
// and how a value is read. An entry without `about` has the server's.

import { bytesParts, count, lifeParts, small, about } from "./format.js";
import { serverAbout } from "./server_columns.js";

const meanLife = (rows, i) => (rows.frees[i] ? rows.lifeSum[i] / rows.frees[i] : NaN);

// Per cent, as the server's object_error
export const objectError = (r, i) => Math.round(200 * Math.sqrt(r.objectVariance[i]) / r.objects[i]);
const objects = (v, r, i) => (v ? `${count(v)}, ± ${objectError(r, i)} %, from ${count(r.objectSamples[i])} samples` : "no sample stays");

// get(rows, slot) is what is sorted by, NaN if it isn't known: such rows come last; parts(value, unit of life) what is shown.
// kinds: only if the process keeps stacks. wide: rem; short, slim: the same on half a screen, and on a narrow one.
// keep: where there is no room for all, the least goes first; keepNarrow: the same on a narrow screen.
// bar: the tone of the bar behind it. on: shown unless the user chose others.
export const COLUMNS = [
	{ id: "growth", title: "growth", wide: 12.5, short: 9, slim: 5.6, keep: 12, bar: "growth", on: true, signed: true,
		about: "Bytes live now less those live at the moment that the header names; a location that only ever grows is where to look for a leak.",
		get: (r, i) => r.grown[i], parts: bytesParts, exact: (v) => (v === v ? `${count(v)} bytes` : "not known over this time") },
	{ id: "live_bytes", title: "live", wide: 7.5, keep: 10, bar: "live", on: true,
		get: (r, i) => r.liveBytes[i], parts: bytesParts, exact: (v) => `${count(v)} bytes` },
	{ id: "live", title: "count", wide: 5.5, keep: 6, on: true,
		get: (r, i) => r.live[i], parts: (v) => [about(v), ""], exact: (v) => `${count(v)} blocks` },
	{ id: "rate", title: "alloc/s", wide: 5.5, keep: 7, on: true,
		about: "Allocations a second, over the last ten seconds.",
		get: (r, i) => r.rate[i], parts: (v) => [small(v), ""], exact: (v) => `${small(v)} allocations a second` },
	{ id: "total", title: "total", wide: 6.5, keep: 4,
		get: (r, i) => r.total[i], parts: bytesParts, exact: (v) => `${count(v)} bytes` },
	{ id: "allocations", title: "allocations", wide: 7, keep: 2,
		get: (r, i) => r.allocations[i], parts: (v) => [about(v), ""], exact: count },
	{ id: "frees", title: "frees", wide: 7, keep: 3,
		get: (r, i) => r.frees[i], parts: (v) => [about(v), ""], exact: count },
	{ id: "mean_life", title: "life", wide: 5.75, keep: 5, on: true, life: true,
		get: meanLife, parts: lifeParts, exact: (v) => (v === v ? small(v) : "none was freed") },
	{ id: "max_life", title: "max life", wide: 6.25, keep: 1, life: true,
		get: (r, i) => r.lifeMax[i], parts: lifeParts, exact: small },
	{ id: "object_bytes", title: "object bytes", wide: 7, keep: 5,
		get: (r, i) => r.objectBytes[i], parts: bytesParts, exact: (v, r, i) => (v ? `${count(v)} bytes in ${objects(r.objects[i], r, i)}` : "no sample stays") },
	{ id: "objects", title: "objects", wide: 6.5, keep: 2,
		get: (r, i) => r.objects[i], parts: (v) => [about(v), ""], exact: objects },
	{ id: "kind", title: "kind", wide: 12.75, slim: 8, keep: 8, on: true, kinds: true,
		get: (r, i) => r.kindKey(i), parts: (v, unit, r) => r.kinds.shown(v),
		exact: (v, r, i) => (v === v ? `${r.kinds.shown(v).join(" ")}, from ${count(r.kindSamples(i))} samples` : "no stack") },
	{ id: "trend", title: "trend", wide: 7, keep: 9, keepNarrow: 11, on: true, drawn: true,
		about: "Live bytes over the time shown, each with a height of its own; sorted: steady growth over that time comes first, then the rest by live bytes; the other way round, shrinking rows come first.",
		get: (r, i, descending) => r.order(i, descending) },
	{ id: "location", title: "location", wide: 0, on: true, text: true, fixed: true,
		get: (r, i) => r.location[i] },
].map((c) => ({ about: serverAbout(c.id), ...c }));

export const column = (id) => COLUMNS.find((c) => c.id === id);

// The columns that are shown: the user's choice or the usual ones; stacks: the process keeps some, so that it
// knows kinds
export const shown = (chosen, stacks) => COLUMNS.filter((c) => (stacks || !c.kinds) && (c.fixed || (chosen ? chosen.includes(c.id) : c.on)));

export const defaultColumns = (stacks) => shown(null, stacks).map((c) => c.id);
