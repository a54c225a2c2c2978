// SPDX-License-Identifier: GPL-2.0-or-later
// save.js - the table as a file, from this tab's data, so also when
// the process has ended. Columns and escapes are those of the server's TSV.

import { el } from "./dom.js";
import { EVERY } from "./server_columns.js";
import { objectError } from "./columns.js";

const VALUES = {
	total: (r, i) => r.total[i],
	allocations: (r, i) => r.allocations[i],
	frees: (r, i) => r.frees[i],
	growth: (r, i) => (Number.isNaN(r.grown[i]) ? "" : r.grown[i]),
	live_bytes: (r, i) => r.liveBytes[i],
	live: (r, i) => r.live[i],
	mean_life: (r, i) => (r.frees[i] ? (r.lifeSum[i] / r.frees[i]).toFixed(3) : ""),
	max_life: (r, i) => r.lifeMax[i],
	location: (r, i) => escape(r.location[i]),
	objects: (r, i) => r.objects[i],
	object_bytes: (r, i) => r.objectBytes[i],
	object_samples: (r, i) => r.objectSamples[i],
	live_samples: (r) => (r.exact ? 0 : ""), // else only the server has them
	live_error: (r) => (r.exact ? 0 : ""),
	object_error: (r, i) => (r.objects[i] ? objectError(r, i) : ""),
};
const value = (name, source, slot) => VALUES[name]?.(source, slot) ?? ""; // empty: the page doesn't know it

const escape = (s) => s.replace(/[\\\t\n\r]/g, (c) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" })[c]);

// source: Rows, or the sums of a group; order: slots; columns: the server's names
export function tsv(source, order, columns = EVERY) {
	const lines = [columns.join("\t")];
	for (const slot of order)
		lines.push(columns.map((name) => value(name, source, slot)).join("\t"));
	return `${lines.join("\n")}\n`;
}

// Offers a file as a download. what: text or a Blob
export function save(name, what, type = "text/tab-separated-values") {
	const url = URL.createObjectURL(new Blob([what], { type }));
	el("a", { href: url, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}
