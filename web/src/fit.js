// SPDX-License-Identifier: GPL-2.0-or-later
// fit.js - which of the usual columns there is room for: a location's file and line
// come before every number but the one that is sorted by. Pure.

const FIRST_TO_GO = ["max_life", "allocations", "frees", "total", "mean_life", "live", "rate", "kind", "trend", "live_bytes", "growth"];
const ON_A_PHONE = [...FIRST_TO_GO.slice(0, -3), "live_bytes", "trend", "growth"]; // the curve is narrower
const REM = 16, NARROW = 640, HALF = 960;

export const isNarrow = (width) => width < NARROW;
// Growth's title is only since when
export const isShort = (width) => width < HALF;

// A column's width in rem in a window of so many pixels: on a narrow screen its letters are smaller, and
// its title may have two lines.
export const widthOf = (c, width) => (isNarrow(width) ? c.slim ?? c.wide * 0.66 : isShort(width) ? c.short ?? c.wide : c.wide);

// A narrow table has less for the location, too.
export function fit(columns, sorted, width) {
	const narrow = isNarrow(width);
	const room = width / REM - (narrow ? 14 : 24);
	let left = columns;
	const wide = () => left.reduce((n, c) => n + widthOf(c, width), 0);
	for (const id of narrow ? ON_A_PHONE : FIRST_TO_GO) {
		if (wide() <= room)
			break;
		left = left.filter((c) => c.fixed || c.id === sorted || c.id !== id);
	}
	return left;
}
