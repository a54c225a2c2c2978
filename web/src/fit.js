// SPDX-License-Identifier: GPL-2.0-or-later
// fit.js - the usual columns for which there is room: a location's file and line
// come before every number but the one that is sorted by. Pure.

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
	const keep = (c) => (narrow ? c.keepNarrow ?? c.keep : c.keep) ?? 0;
	let left = columns;
	const wide = () => left.reduce((n, c) => n + widthOf(c, width), 0);
	for (const last of columns.filter((c) => !c.fixed && c.id !== sorted).sort((a, b) => keep(a) - keep(b))) {
		if (wide() <= room)
			break;
		left = left.filter((c) => c !== last);
	}
	return left;
}
