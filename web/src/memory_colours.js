// SPDX-License-Identifier: GPL-2.0-or-later
// memory_colours.js - the style sheet's colours for the memory map, as [red, green, blue].

import { STATES } from "./memory_states.js";

const NAMES = [...STATES, "few", "full", "lit"];

// "#c9373c" or "#fff"
export function parseColour(text) {
	const long = /^#([0-9a-f]{6})$/i.exec(text)?.[1] ?? /^#([0-9a-f]{3})$/i.exec(text)?.[1].replace(/./g, "$&$&") ?? "808080";
	return [0, 2, 4].map((i) => parseInt(long.slice(i, i + 2), 16));
}

export function readColours(node) {
	const style = getComputedStyle(node), get = (name) => style.getPropertyValue(name).trim();
	return { ...Object.fromEntries(NAMES.map((name) => [name, parseColour(get(`--map-${name}`))])), ground: parseColour(get("--bg")),
		text: get("--fg"), edge: get("--map-edge") };
}
