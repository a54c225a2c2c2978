// SPDX-License-Identifier: GPL-2.0-or-later
// format.js - numbers, times and names as people read them. Pure functions.

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

// Unknown numbers are dashes.
export const DASH = "\u2013";
export const MINUS = "\u2212";

// Three digits at most before the unit: 9.87, 98.7, 987. 1 KB is 1,024 bytes, as in ps and top.
function three(v) {
	return v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0);
}

// [number, unit] of a number of bytes: [“212”, “MB”]. null: [“–”, “”].
export function bytesParts(n) {
	if (n === null || n === undefined || Number.isNaN(n))
		return [DASH, ""];
	let v = Math.abs(n), u = 0;
	while (v >= 999.5 && u < UNITS.length - 1) {
		v /= 1024;
		u++;
	}
	const s = u ? three(v) : Math.round(v).toString();
	return [(n < 0 && Number(s) ? MINUS : "") + s, UNITS[u]];
}

export const bytes = (n) => {
	const [v, u] = bytesParts(n);
	return u ? `${v}\u00a0${u}` : v;
};

// Intl.NumberFormat would take longer to make than all the rest of the page
const commas = (n) => String(n).replace(/\B(?=(?:\d{3})+$)/g, ",");

// 98,112
export const count = (n) =>
	n === null || n === undefined || Number.isNaN(n) ? DASH : (n <= -0.5 ? MINUS : "") + commas(Math.round(Math.abs(n)));

// 98,112 below a million, then 1.2 M
export function about(n) {
	const v = Math.abs(n);
	if (v < 1e6)
		return count(n);
	const u = v < 999.5e6 ? 1 : 2;
	return `${n < 0 ? MINUS : ""}${three(v / (u === 1 ? 1e6 : 1e9))}\u00a0${u === 1 ? "M" : "G"}`;
}

// A rate or a mean, of small numbers: 0, 0.03, 3.1, 140, 12,345
export function small(n) {
	if (n === null || n === undefined || !Number.isFinite(n))
		return DASH;
	const v = Math.abs(n);
	if (v >= 99.95 || Number.isInteger(n))
		return count(Math.round(n));
	return v >= 0.995 ? n.toFixed(1) : v >= 0.005 ? n.toFixed(2) : "0";
}

// A lifespan: [“3.1”, “GCs”], or an amount of bytes
export const lifeParts = (n, unit) => (n === null || Number.isNaN(n) ? [DASH, ""] : unit === "bytes" ? bytesParts(n) : [small(n), n === 1 ? "GC" : "GCs"]);
export const gcs = (n) => lifeParts(n, "gc").join("\u00a0");

// "14 minutes" and so on, for sentences
export function span(seconds) {
	const s = Math.max(0, Math.round(seconds));
	const some = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
	if (s < 100)
		return some(s, "second");
	if (s < 100 * 60)
		return some(Math.round(s / 60), "minute");
	if (s < 48 * 3600)
		return some(Math.round(s / 3600), "hour");
	return some(Math.round(s / 86400), "day");
}

// 3 h 12 m
export function duration(seconds) {
	const s = Math.max(0, Math.floor(seconds));
	if (s >= 86400)
		return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
	if (s >= 3600)
		return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} m`;
	return s >= 60 ? `${Math.floor(s / 60)} m ${s % 60} s` : `${s} s`;
}

const two = (n) => String(n).padStart(2, "0");

// The time of day here: 02:14, or 02:14:07
export function clock(unix, withSeconds) {
	const d = new Date(unix * 1000);
	const hm = `${two(d.getHours())}:${two(d.getMinutes())}`;
	return withSeconds ? `${hm}:${two(d.getSeconds())}` : hm;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// 22 Nov
export function day(unix) {
	const d = new Date(unix * 1000);
	return `${d.getDate()}\u00a0${MONTHS[d.getMonth()]}`;
}

// A moment as seen at another one: 02:14 on the same day, else 22 Nov 02:14. null: seen at no time
export const moment = (unix, now, withSeconds) =>
	`${now !== null && day(unix) === day(now) ? "" : `${day(unix)} `}${clock(unix, withSeconds)}`;

// The two ends of a time as seen at another one: both have their dates, or neither does.
export function ends(from, to, now, withSeconds) {
	const seen = day(from) === day(to) ? now : null;
	return [from, to].map((unix) => moment(unix, seen, withSeconds));
}

// Makes characters visible that can't be seen, or would turn the line around:
// a newline is \n, as in TSV, a right-to-left override is ⟨202E⟩.
export function visible(s) {
	return s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) => {
		const usual = { "\n": "\\n", "\t": "\\t", "\r": "\\r" }[c];
		return usual || `\u27e8${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
	});
}

// Blocks from..to as “2–4 KB”; the buckets are powers of two.
export function sizeRange(from, to) {
	if (from === to)
		return bytes(from);
	const [a, ua] = bytesParts(from), [b, ub] = bytesParts(to + 1);
	const whole = (s) => s.replace(/\.0+$/, "");
	return ua === ub ? `${whole(a)}\u2013${whole(b)}\u00a0${ub}` : `${whole(a)}\u00a0${ua}\u2013${whole(b)}\u00a0${ub}`;
}

export function countRange(from, to) {
	return from === to ? count(from) : `${count(from)}\u2013${count(to)}`;
}
