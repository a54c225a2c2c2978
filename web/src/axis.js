// SPDX-License-Identifier: GPL-2.0-or-later
// axis.js - labels of a time axis. Pure functions.

import { clock, day } from "./format.js";

const DAY = 86400;
const LETTER = 6; // pixels, about

// Steps between two labels, in seconds
export const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200,
	...[1, 2, 7, 14, 28, 56, 112, 224, 448].map((n) => n * DAY)];

// Does an axis of so many seconds need dates?
export const dated = (seconds) => seconds > DAY * 0.9;

const zone = (unix) => -60 * new Date(unix * 1000).getTimezoneOffset();

// Times of min to max that are whole multiples of `step` by the clock on the wall
export function timeSplits(min, max, step) {
	const splits = [];
	for (let local = Math.ceil((min + zone(min)) / step) * step; local <= max + DAY; local += step) {
		const guess = local - zone(local), unix = local - zone(guess); // a summer's beginning or end may lie between
		if (unix >= min && unix <= max && unix > (splits[splits.length - 1] ?? -Infinity))
			splits.push(unix);
	}
	return splits;
}

// Labels at `splits` of an axis from min to max, `width` pixels long, with `step` seconds between
// them; "" where one would be cut off. `room`: pixels behind the end of the axis. A split that is a little
// less than its second is that second. Midnight is a date. A long axis has one at the first label, too, and
// where another day begins, if there is room for it.
export function timeLabels(splits, min, max, step, width, room = 0) {
	const long = dated(max - min);
	let last = null;
	return splits.map((split) => {
		const unix = Math.round(split), date = day(unix), other = date !== last;
		const midnight = clock(unix) === "00:00";
		const time = clock(unix, step < 60), right = (max - split) / (max - min) * width + room;
		const texts = step >= DAY || midnight ? [date] : long && other ? [`${date} ${time}`, time] : [time];
		const text = texts.find(({ length }) => !(right < length * LETTER / 2)); // NaN: not known yet
		if (!text || (split - min) / (max - min) * width < -text.length * LETTER / 2)
			return "";
		last = date;
		return text;
	});
}
