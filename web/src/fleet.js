// SPDX-License-Identifier: GPL-2.0-or-later
// fleet.js - several processes at once: their curves, their sums, and the rows of
// two of them side by side. Pure functions.

import { bytes, visible, DASH, MINUS } from "./format.js";

const LEAST = 60; // seconds that a curve shows

// “puma: cluster worker 1: 4711 [app]” and so on; what a process is called when it has no title
export const nameOf = (p) => visible(p.title || (p.pid ? `pid ${p.pid}` : "unknown process"));

export const answers = (p) => p.state === "answers";

// A key for each of a list: nothing tells the number of some that don't answer.
export const keyOf = (p, i) => p.pid ?? `unknown ${i}`;

// The list with the last known values of those that don't answer, and `seen`, the time of these. last: a Map, kept
// from call to call; it forgets those that ended.
export function withLast(processes, last, now) {
	const list = processes.map((p) => {
		if (answers(p))
			last.set(p.pid, { p, now });
		const was = p.pid && !answers(p) ? last.get(p.pid) : null;
		return was ? { ...was.p, state: p.state, outlier: "", rss_bytes: p.rss_bytes ?? was.p.rss_bytes, seen: was.now } : p;
	});
	for (const pid of last.keys())
		if (!processes.some((p) => p.pid === pid))
			last.delete(pid);
	return list;
}

// The server's sentence in pieces: texts, {pid} where it names a process, and {group, q} where it names a file or gem
// whose lines grow together
export function pieces(sentence) {
	const out = [];
	let end = 0;
	const add = (from, to, piece) => {
		out.push(sentence.slice(end, from), { ...piece, text: sentence.slice(from, to) });
		end = to;
	};
	for (const m of sentence.matchAll(/\b[Pp]rocess (?<pid>\d+(?:-\d+)?)|(?<= of that in )(?<gem>the gem )?(?<name>\S+)(?=, on \d+ lines)/g)) {
		const { pid, gem, name } = m.groups;
		const to = m.index + m[0].length;
		add(to - (pid ? m[0] : name).length, to, pid ? { pid } : { group: gem ? "gem" : "file", q: name });
	}
	return [...out, sentence.slice(end)].filter(Boolean);
}

// “1.2 MB/min”; null: a dash
export const perMinute = (v) => (v === null || v === undefined ? DASH : `${v > 0 ? "+" : v < 0 ? MINUS : ""}${bytes(Math.abs(v))}/min`);

// [[seconds before the last point, value] ...] of one of a curve's columns, known ones only
export function points(curve, what) {
	const t = curve?.t || [];
	const last = t[t.length - 1];
	return t.map((at, i) => [last - at, curve[what][i]]).filter(([, v]) => v !== null);
}

// How far back the curves reach, in seconds: the same for all, so that they can be compared
export const reach = (processes) => Math.max(LEAST, ...processes.map((p) => points(p.curve, "live")[0]?.[0] ?? 0));

// {line, area} of such points, as an SVG's paths: now is at the right, `span` seconds ago at the left.
// The height is from `low` to `high`; without them from the least to the most, but what
// changes by less than a twentieth stays level.
export function curvePaths(list, span, width, height, low, high) {
	if (list.length < 2)
		return null;
	const values = list.map(([, v]) => v);
	let min = low ?? Math.min(...values), max = high ?? Math.max(...values);
	if (high === undefined) {
		const range = Math.max(max - min, max * 0.05, 1);
		min = (max + min) / 2 - range / 2;
		max = min + range;
	}
	const x = (ago) => (width * (1 - Math.min(ago, span) / span)).toFixed(1);
	const y = (v) => (height - 1 - (v - min) / Math.max(max - min, 1) * (height - 2)).toFixed(1);
	const line = list.map(([ago, v], i) => `${i ? "L" : "M"}${x(ago)} ${y(v)}`).join("");
	return { line, area: `${line}L${x(list[list.length - 1][0])} ${height}L${x(list[0][0])} ${height}Z` };
}

// The sum of all curves of one column, on one time axis: [[seconds ago, sum] ...]. A process that
// didn't exist then counts nothing; where a process has a gap, its last value holds.
export function sumCurve(processes, what, step = 20) {
	const all = processes.map((p) => points(p.curve, what)).filter((list) => list.length);
	const oldest = Math.max(0, ...all.map((list) => list[0][0]));
	const out = [];
	for (let ago = Math.floor(oldest / step) * step; ago >= 0; ago -= step) {
		let sum = 0;
		for (const list of all) {
			let value = 0;
			for (const [at, v] of list) {
				if (at < ago)
					break;
				value = v;
			}
			sum += value;
		}
		out.push([ago, sum]);
	}
	return out;
}

const sum = (list, get) => list.reduce((n, p) => n + (get(p) || 0), 0);

export const totals = (processes) => ({ n: processes.length, rss: sum(processes, (p) => p.rss_bytes), live: sum(processes, (p) => p.live_bytes),
	slope: processes.some((p) => p.slope_bytes_per_minute !== null) ? sum(processes, (p) => p.slope_bytes_per_minute) : null });

const middle = (list) => {
	const v = list.filter((x) => x !== null).sort((a, b) => a - b);
	return v.length % 2 ? v[(v.length - 1) / 2] : (v[v.length / 2 - 1] + v[v.length / 2]) / 2;
};

// “3 processes”, or “2 of 3 processes” if one doesn't answer
export function numberOf(processes) {
	const n = processes.length, there = processes.filter(answers).length;
	return `${there < n ? `${there} of ` : ""}${n} process${n === 1 ? "" : "es"}`;
}

// How much memory they have, or which one stands out
export function familySentence(processes) {
	const there = processes.filter(answers), t = totals(there);
	const out = there.filter((p) => p.outlier);
	if (out.length) {
		const [p] = out.sort((a, b) => b.rss_bytes - a.rss_bytes);
		const others = there.filter((o) => o !== p && o.forked_from === p.forked_from);
		const is = p.outlier.startsWith("RSS") ? `RSS ${bytes(p.rss_bytes)}, the others\u2019 median is ${bytes(middle(others.map((o) => o.rss_bytes)))}` :
			`it grows by ${bytes(p.slope_bytes_per_minute)} a minute, the others\u2019 median is ${bytes(middle(others.map((o) => o.slope_bytes_per_minute)))}`;
		return `${out.length > 1 ? `${out.length} processes stand out, most of all` : "One process stands out:"} pid ${p.pid}: ${is}.`;
	}
	return `${numberOf(processes)}: RSS ${bytes(t.rss)}, live ${bytes(t.live)}.`;
}

// Sorted by a column; unknown values come last, and equal ones by PID
export function sorted(processes, key, descending) {
	const value = (p) => (key === "title" ? nameOf(p) : p[key]);
	return [...processes].sort((a, b) => {
		const x = value(a), y = value(b);
		if ((x ?? null) === null || (y ?? null) === null)
			return ((x ?? null) === null) - ((y ?? null) === null) || a.pid - b.pid;
		return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1) || a.pid - b.pid;
	});
}

// A native location has an address, which differs from process to process.
export const plain = (location) => location.replace(/ \[0x[0-9a-f]+\]$/, "");

// The rows of two processes by location, the largest difference of live bytes first:
// [{location, a, b, difference}], a and b in live bytes
export function compareRows(a, b, limit = 100) {
	const all = new Map();
	for (const [rows, key] of [[a, "a"], [b, "b"]])
		for (const row of rows) {
			const location = plain(row.location);
			const entry = all.get(location) || { location, name: row.location, a: 0, b: 0 };
			entry[key] += row.live_bytes;
			all.set(location, entry);
		}
	const list = [...all.values()].map((e) => ({ ...e, difference: e.a - e.b })).filter((e) => e.difference);
	list.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || (x.location < y.location ? -1 : 1));
	return { rows: list.slice(0, limit), differ: list.length, a: sum(a, (r) => r.live_bytes), b: sum(b, (r) => r.live_bytes) };
}

// Length of the file's part of a location of which nothing else is known
export function fileEnd(location) {
	const line = /:\d+$/.exec(location);
	const paren = location.indexOf("(");
	return line ? line.index : paren > 0 ? paren : location.length;
}
