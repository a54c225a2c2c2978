// SPDX-License-Identifier: GPL-2.0-or-later
// memory_light.js - the cells that are lit: those in which the selected lines have a block. Each gives a function from a
// level to a byte for each of its cells. Pure.

import { spread } from "./memory_states.js";

// Of a bit for each page, as the server has them
export function byBits(bits, { cells }) {
	const levels = new Map();
	return (level) => levels.get(level) ?? levels.set(level, spread(bits, cells, level)).get(level);
}

// Of the line that has most of each cell, where nobody can be asked for more. plane(level): a line byte for each cell
export function byColour(locations, { lines }, plane) {
	const levels = new Map(), chosen = new Set(lines.filter((l) => l.colour && locations.includes(l.location)).map((l) => l.colour));
	return (level) => levels.get(level) ?? levels.set(level, plane(level).map((c) => (chosen.has(c) ? 1 : 0))).get(level);
}
