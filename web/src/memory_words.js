// SPDX-License-Identifier: GPL-2.0-or-later
// memory_words.js - the memory map in words. Pure functions.

import { bytes, count, span, visible, DASH } from "./format.js";
import { NONE, EMPTY, END, RUBY, SWAPPED, UNKNOWN, OTHER, SHARED, HUGE, UNLOADED, stateOf, isUsed, fillOf } from "./memory_states.js";

// The way to give empty pages back, by the allocator's name
const GIVER = { glibc: "malloc_trim gives it back" };
const giver = (allocator) => GIVER[allocator] || "a trim gives it back";

// The legend's rows: [the colour's name, what it means], those that can be there
export function legend({ allocator, missing, swapped_bytes: swapped }) {
	return [
		["none", "not in memory (given back, or never touched)"],
		["empty", `in memory, no block is there: ${giver(allocator)}`],
		["end", allocator === "glibc" || !allocator ? "end of an arena: empty, a trim leaves it" : "empty, a trim leaves it"],
		["few", "a few bytes keep it"],
		["full", "full"],
		["ruby", "Ruby\u2019s heap pages"],
		["other", "other memory"],
		...(swapped ? [["swapped", "swapped out"]] : []),
		...(missing ? [["unknown", "the allocator\u2019s: no block that is known is there"]] : []),
	];
}

// The byte of a page, or of a cell of several pages, in words
export function stateWords(byte, allocator) {
	if (isUsed(byte)) {
		const part = Math.round(fillOf(byte) * 100);
		return `${part < 2 ? "under 2" : part}\u00a0% of it are live blocks`;
	}
	switch (stateOf(byte)) {
	case NONE: return "not in memory";
	case EMPTY: return `empty: in memory, no block is there; ${giver(allocator)}`;
	case END: return "the end of an arena: empty, a trim leaves it";
	case RUBY: return "Ruby\u2019s heap page";
	case SWAPPED: return "swapped out";
	case UNKNOWN: return "the allocator\u2019s: no block that is known is there";
	case OTHER: return "other memory";
	case UNLOADED: return "loading";
	default: return DASH;
	}
}

const flagWords = (byte) => [...(byte & SHARED ? ["shared with another process"] : []), ...(byte & HUGE ? ["part of a huge page"] : [])];

// The line byte: nothing, the line's location, or another one
export function lineWords(line, byColour) {
	if (!line)
		return "";
	const at = byColour.get(line);
	return at === undefined ? "largely of a line that isn\u2019t in the table" : `largely ${visible(at)}`;
}

// A cell in a line: its state, the bytes in it, their location, its address
export function cellWords({ byte, line, pages, address, panel, json, byColour }) {
	const many = pages > 1 ? `${count(pages)} pages, most of them: ` : "";
	const is = panel.kind === "ruby" && isUsed(byte) ? `Ruby\u2019s heap page: objects fill ${Math.round(fillOf(byte) * 100)}\u00a0% of it` : stateWords(byte, json.allocator);
	return [`${many}${is}`, lineWords(line, byColour), ...flagWords(byte), `${visible(panel.name)}, ${address}`].filter(Boolean).join(" \u00b7 ");
}

// One square = 4 KiB, one row = 1 MiB
export function scaleWords(level, row, pageBytes) {
	const kib = (n) => (n >= 1 << 30 ? `${n / (1 << 30)} GiB` : n >= 1 << 20 ? `${n / (1 << 20)} MiB` : `${n / 1024} KiB`);
	const square = pageBytes * 4 ** level;
	return `One square = ${kib(square)}${level ? ` (${count(4 ** level)} pages)` : ""}, one row = ${kib(square * row)}`;
}

export const panelWords = (p) => `${visible(p.name)}: ${bytes(p.resident_bytes)} in memory, ${bytes(p.live_bytes)} live`;

// Amounts stand out: 215 MB, 137 MB (64 %). [[text, is an amount], ...]
export function stressed(sentence) {
	return sentence.split(/(\d[\d.,]*[ \u00a0][KMGT]?B(?: \(\d+[ \u00a0]?%\))?)/).map((text, i) => [text, i % 2 === 1]).filter(([text]) => text);
}

const percent = (part, all) => (all ? `${Math.round(part / all * 100)}\u00a0%` : DASH);
export const partTitle = (part, all) => `${part.title}: ${bytes(part.bytes)}, ${percent(part.bytes, all)}`;

// How often more than its own bytes a line holds: 7.5
export const times = (holds, live) => (live ? (holds / live).toFixed(1) : DASH);

const moreOrLess = (change) => `${bytes(Math.abs(change))} ${change < 0 ? "less" : "more"}`;
const SMALL = 64 * 1024;

// Two snapshots, in a sentence: the change of RSS, and the parts that caused it
export function differenceWords(before, after) {
	const rss = after.rss_bytes - before.rss_bytes;
	const parts = differences(before, after).filter((d) => Math.abs(d.change) >= SMALL).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
	const time = after.unix - before.unix;
	const when = time < 1 ? "A moment later" : `${span(time)} later`;
	const head = Math.abs(rss) < SMALL ? `${when} as much is in memory` : `${when} ${moreOrLess(rss)} is in memory`;
	const what = parts.slice(0, 4).map((d) => `${d.title} ${moreOrLess(d.change)}`);
	return `${head}${what.length ? `: ${what.join(", ")}` : ""}.`;
}

// [{name, title, before, after, change}] of the parts that either has
export function differences(before, after) {
	const find = (json, name) => json.parts.find((p) => p.name === name)?.bytes ?? 0;
	const all = [...before.parts, ...after.parts.filter((p) => !before.parts.some((q) => q.name === p.name))];
	return all.map(({ name, title }) => ({ name, title, before: find(before, name), after: find(after, name), change: find(after, name) - find(before, name) }))
		.filter((d) => d.before || d.after);
}

const duration = (ms) => (ms < 1 ? "less than 1\u00a0ms" : ms < 1000 ? `${Math.round(ms)}\u00a0ms` : `${(ms / 1000).toFixed(1)}\u00a0s`);

// A trim's effect, told before the user confirms it
export function trimWords({ bytes: most, least_bytes: least, milliseconds }, allocator) {
	if (most === null)
		return `${allocator === "glibc" ? "malloc_trim" : "A trim"} gives back what is free: how much isn\u2019t known.`;
	if (!most)
		return `${allocator === "glibc" ? "malloc_trim" : "A trim"} would give nothing back.`;
	const amount = bytes(least) === bytes(most) ? bytes(most) : `${bytes(least)} to ${bytes(most)}`;
	return `${allocator === "glibc" ? "malloc_trim" : "A trim"} would give back ${amount}. Threads that allocate meanwhile wait up to ${duration(milliseconds)} in all.`;
}

export function whatIfWords({ locations, blocks, bytes: own, empty_now_bytes: now, empty_then_bytes: then }) {
	return `Without ${count(blocks)} blocks (${bytes(own)}) of ${locations === 1 ? "this line" : `these ${count(locations)} lines`}, ${bytes(then - now)} more would be empty pages.`;
}

// A path's last part, for charts
export const shortLocation = (location) => visible(location.slice(location.lastIndexOf("/") + 1) || location);
