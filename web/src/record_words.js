// SPDX-License-Identifier: GPL-2.0-or-later
// record_words.js - recording for replay: the requests to the server, and its answers in words. Pure functions.

import { about, bytes, duration, visible } from "./format.js";

export const DEFAULTS = { seconds: "600", max: "2g", full: "wait", clock: "coarse" };

// The choices for a disk that is too slow, and for the exactness of times
export const CHOICES = {
	full: { wait: "wait for a slow disk", drop: "drop events if the disk is slow" },
	clock: { coarse: "coarse clock", fine: "fine clock, dearer" },
};

// The path that begins a recording, or why there is none: {path} or {wrong}. Fields are texts; empty: no limit
export function startPath({ seconds, max, full, clock }) {
	const query = [["full", full], ["clock", clock]];
	if (seconds && !(/^\d{1,9}$/.test(seconds) && Number(seconds) > 0))
		return { wrong: "Record: seconds are a whole number above zero, please." };
	if (max && !/^[1-9]\d{0,17}[kmgt]?$/i.test(max))
		return { wrong: "Record: a size is a number with k, m, g or t, such as 500m, please." };
	if (max)
		query.unshift(["max", max.toLowerCase()]);
	if (seconds)
		query.unshift(["seconds", String(Number(seconds))]);
	return { path: `/trace/start?${query.map((pair) => pair.join("=")).join("&")}` };
}

const lost = (n) => (n ? ` ${about(n)} events are lost: the disk was too slow.` : "");

// Of /trace.json. "": nothing was recorded
export function recordWords({ recording, path, seconds, events, lost: missing, bytes: size, why }) {
	if (!path)
		return "";
	const file = visible(path), what = `${about(events ?? 0)} events in ${duration(seconds ?? 0)}, ${bytes(size ?? 0)}`;
	return recording ? `Recording to ${file}: ${what}.${lost(missing)}` : `Recorded to ${file}: ${what}.${lost(missing)}${why ? ` It ended: ${visible(why)}.` : ""}`;
}
