// SPDX-License-Identifier: GPL-2.0-or-later
// verdict.js - a location's sentence, of its numbers. The process's is the
// server's (/verdict.json), and here is only how it is shown. Pure functions.

import { bytes, count, span, moment, sizeRange, small } from "./format.js";

// Slope by least squares, in units of v a second; 0 of fewer than two points
export function slope(t, v) {
	let n = 0, st = 0, sv = 0, stt = 0, stv = 0;
	for (let i = 0; i < t.length; i++) {
		if (v[i] === null)
			continue;
		const x = t[i] - t[0];
		n++;
		st += x;
		sv += v[i];
		stt += x * x;
		stv += x * v[i];
	}
	const d = n * stt - st * st;
	return n > 1 && d > 0 ? (n * stv - st * sv) / d : 0;
}

// How the lowest points rise, in units of v a second: from the least of the first half of the
// time to the least of the second. Garbage that waits for a collection comes and goes above them.
export function floorRate(t, v) {
	const middle = (t[0] + t[t.length - 1]) / 2;
	let early = -1, late = -1;
	for (let i = 0; i < t.length; i++) {
		if (v[i] === null)
			continue;
		if (t[i] < middle)
			early = early < 0 || v[i] <= v[early] ? i : early;
		else
			late = late < 0 || v[i] < v[late] ? i : late;
	}
	return early >= 0 && late >= 0 ? (v[late] - v[early]) / (t[late] - t[early]) : 0;
}

// For how many seconds up to the last point v stayed within `part` of the last value (at least 64 KB)
export function flatFor(t, v, part = 0.01) {
	let i = v.length - 1;
	while (i >= 0 && v[i] === null)
		i--;
	if (i < 0)
		return 0;
	const now = v[i], end = t[i];
	const slack = Math.max(now * part, 65536);
	let first = end;
	for (; i >= 0; i--) {
		if (v[i] === null)
			continue;
		if (Math.abs(v[i] - now) > slack)
			break;
		first = t[i];
	}
	return end - first;
}

// Where a text of the sentence names a file or a gem whose lines grow together, as [before, {name, href}, after];
// else [text]
export function togetherIn(text, together) {
	const i = together ? text.indexOf(`${together.text}, on `) : -1;
	if (i < 0)
		return [text];
	const { group, name } = together;
	return [text.slice(0, i), { name: together.text, href: `#${new URLSearchParams({ q: `${group === "gem" ? "gem:" : ""}"${name}"`, group })}` },
		text.slice(i + together.text.length)];
}

// The server's answer as {text, name, rest, at, next, growing, title}: the sentence is text, the
// link `name` to the location `at`, and rest. until: since when nobody answers, or tracking
// is paused, as text, or null; then it says no more how it is, but how it was.
export function spoken(verdict, until) {
	const { sentence, at = null, at_text: name } = verdict;
	const i = at !== null && name ? sentence.lastIndexOf(name) : -1;
	const before = until ? `Until ${until}: ` : "";
	return {
		text: before + (i < 0 ? sentence : sentence.slice(0, i)),
		name: i < 0 ? null : name,
		rest: i < 0 ? "" : sentence.slice(i + name.length),
		at: i < 0 ? null : at,
		next: verdict.next || "",
		growing: Boolean(verdict.growing) && !until,
		title: typeof verdict.confidence === "number" ? `confidence: ${Math.round(verdict.confidence * 100)}\u00a0%` : null,
	};
}

// Most of the live blocks' sizes: “most are 2–4 KB”, or null
function sizes(bySize, live) {
	const most = bySize.reduce((a, b) => (!a || b.count > a.count ? b : a), null);
	if (!most || !live)
		return null;
	const share = most.count / live;
	const what = sizeRange(most.from, most.to);
	return share > 0.995 ? `all are ${what}` : share > 0.5 ? `most are ${what}` : `sizes vary, ${what} is the most usual`;
}

// The difference of its ends, if the curve never goes the other way; else null
function oneWay(v) {
	const known = v.filter((n) => n !== null);
	const steps = known.slice(1).map((n, i) => n - known[i]);
	return steps.every((n) => n >= 0) || steps.every((n) => n <= 0) ? (known.at(-1) ?? 0) - (known[0] ?? 0) : null;
}

function freed(row, lifeUnit) {
	if (!row.frees)
		return row.live ? "none was freed" : null;
	const mean = row.lifeSum / row.frees;
	const life = lifeUnit === "bytes" ? `${bytes(mean)} of allocations` : `${small(mean)} collections`;
	return `${count(row.frees)} of ${count(row.frees + row.live)} were freed, after ${life} on average`;
}

// One location: “98,112 blocks live, 230 MB, growing by 1.1 MB a minute since 01:20; ...”
// grows: {since, rate} if the sentence's answer says so, else undefined: it is said to grow nowhere else.
// t, v: its live bytes over time
export function locationSentence({ row, grows, t, v, offset, bySize, lifeUnit }) {
	const seen = t.length ? t[t.length - 1] - t[0] : 0;
	const steep = slope(t, v), floor = floorRate(t, v);
	const trend = seen * (steep > 0 ? Math.max(0, Math.min(steep, floor)) : Math.min(0, Math.max(steep, floor))); // teeth are neither
	const change = oneWay(v) ?? trend;
	const flat = flatFor(t, v, 0.005);
	let s = `${count(row.live)} block${row.live === 1 ? "" : "s"} live, ${bytes(row.liveBytes)}`;
	if (grows)
		s += `, growing by ${bytes(grows.rate)} a minute${offset === null ? "" : ` since ${moment(offset + grows.since, offset + (t.at(-1) ?? grows.since))}`}`;
	else if (Math.abs(trend) > Math.max(row.liveBytes * 0.005, 256))
		s += `, ${bytes(Math.abs(change))} ${change > 0 ? "more" : "less"} than ${span(seen)} ago`;
	else if (flat >= 5 && flat > seen / 20)
		s += `, the same for ${span(flat)}`;
	else if (seen >= 5)
		s += ", up and down";
	const rest = [freed(row, lifeUnit), sizes(bySize, bySize.reduce((n, b) => n + b.count, 0))].filter(Boolean);
	return rest.length ? `${s}; ${rest.join("; ")}.` : `${s}.`;
}
