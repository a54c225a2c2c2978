// SPDX-License-Identifier: GPL-2.0-or-later
// compare.js - named marks on the plot, and the way to the difference of two moments.

import { visible } from "./format.js";
import { base, encode } from "./server.js";

export const NAME_MAX = 80; // bytes of a mark's name that the server takes

// The name of a line on the plot: {label, kind: as its title says}. An own mark is this tab's.
export function named({ kind, text }) {
	const label = (kind === "annotation" || kind === "mark") && text ? visible(text) : kind === "own" ? "my mark" : kind;
	return { label, kind: kind === "own" ? "mark of this tab" : kind };
}

// times: {from, to} in seconds of uptime; without `to` up to now
export function diffLink({ from, to }) {
	return `${base()}/diff?from=${encode(String(from))}${to === undefined ? "" : `&to=${encode(String(to))}`}`;
}

// The path of a new mark, or false: the server would refuse the name.
export function markPath(name) {
	const bytes = new TextEncoder().encode(name).length;
	return bytes > 0 && bytes <= NAME_MAX && !/^(now|start|[\d.]+)$/.test(name) && `/mark?name=${encode(name)}`;
}
