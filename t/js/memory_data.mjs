// SPDX-License-Identifier: GPL-2.0-or-later
// memory_data.mjs - a made-up memory map: a process of 16 threads that keeps a few blocks in most pages' places, or with
// {gigabytes: 10} one large heap. The same numbers in every run; pages are made of a hash of their number.

import { coarser } from "../../web/src/memory_states.js";

const PAGE = 4096, MB = 1 << 20, TILE = 65536;
export const LINES = ["/srv/app/bloat.rb:32", "/srv/app/bloat.rb:27", "/srv/app/lib/cache.rb:17", "/usr/lib/ruby/3.1.0/json/common.rb:216",
	"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1(+0xd8484) [0x7f33ef0d8484]"];

const hash = (n) => {
	let h = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
	h = Math.imul(h ^ h >>> 13, 0xc2b2ae35);
	return (h ^ h >>> 16) >>> 0;
};

function shape(gigabytes, arenas) {
	const panels = [];
	let cell = 0;
	const add = (name, kind, pages, address) => {
		panels.push({ name, kind, cell, cells: pages, resident_bytes: 0, live_bytes: 0, spans: [[`0x${address.toString(16)}`, cell, pages]] });
		cell += pages;
	};
	if (gigabytes) {
		add("main arena", "main", gigabytes * 262144 - 4000, 0x55d0c0000000);
		add("thread arena 1", "arena", 4000, 0x7f0000000000);
	} else {
		add("main arena", "main", 3840, 0x55d0c0000000);
		for (let i = 1; i < arenas; i++)
			add(`thread arena ${i}`, "arena", 2600 + hash(i) % 900, 0x7f0000000000 + i * 0x4000000);
	}
	add("Ruby\u2019s heap pages", "ruby", 3000, 0x7f8000000000);
	return { panels, cells: cell };
}

// after a trim: its empty pages are given back
export function makeMap({ gigabytes = 0, arenas = 16, trimmed = false, hostile = false, allocator = "glibc" } = {}) {
	const { panels, cells } = shape(gigabytes, arenas);
	const fill = new Uint8Array(cells), line = new Uint8Array(cells);
	const lines = LINES.map((location, i) => ({ location, live_bytes: 0, blocks: 0, holds_bytes: 0, alone_bytes: 0, colour: i + 1 }));
	if (hostile)
		lines[0].location = "/srv/<img src=x onerror=\"window.hostile=1\"></script>.rb:1";
	let empty = 0, ends = 0, live = 0, holes = 0, ruby = 0;
	for (const p of panels) {
		const end = p.cell + p.cells, tail = end - Math.floor(p.cells * 0.15), gone = end - 60;
		for (let c = p.cell; c < end; c++) {
			const h = hash(c);
			if (p.kind === "ruby") {
				fill[c] = c >= gone ? 0 : 3;
			} else if (c >= gone) {
				fill[c] = 0;
			} else if (c >= tail && p.kind === "arena") {
				fill[c] = 2;
			} else if (p.kind === "main" && c < p.cell + p.cells / 3 || h % 12 === 0) {
				const full = p.kind === "main" && c < p.cell + p.cells / 3;
				fill[c] = 8 + (full ? 40 + h % 16 : h % 9) | (h % 97 === 0 ? 64 : 0) | (p.kind === "main" && h % 5 < 1 ? 128 : 0);
				line[c] = full ? (h % 3 ? 5 : 255) : 1 + (h >>> 8) % 4;
			} else {
				fill[c] = trimmed ? 0 : 1;
			}
			const s = fill[c] & 63;
			if (s)
				p.resident_bytes += PAGE;
			if (s >= 8) {
				const n = Math.max(64, Math.round((s - 8) / 55 * PAGE));
				p.live_bytes += n;
				live += n;
				holes += PAGE - n;
				const at = lines[line[c] - 1];
				if (at) {
					at.live_bytes += n;
					at.blocks += 3;
					at.holds_bytes += PAGE;
					at.alone_bytes += h >>> 5 & 1 ? PAGE : 0;
				}
			} else if (s === 1) {
				empty += PAGE;
			} else if (s === 2) {
				ends += PAGE;
			} else if (s === 3) {
				ruby += PAGE;
			}
		}
	}
	lines.sort((a, b) => b.holds_bytes - a.holds_bytes);
	const parts = [["live", live, "live blocks"], ["holes", holes, "holes beside live blocks"], ["empty", empty, "empty pages"], ["ends", ends, "ends of arenas"], ["unknown", 0, "unknown blocks"],
		["ruby", ruby, "Ruby\u2019s heap pages"], ["stacks", 2 * MB, "threads\u2019 stacks"], ["files", 6 * MB, "programs and libraries"], ["mwrap", 7 * MB, "mwrap itself"], ["other", 9 * MB, "other memory"]]
		.map(([name, bytes, title]) => ({ name, bytes, title }));
	const rss = parts.reduce((s, p) => s + p.bytes, 0), mb = (n) => (n / MB).toFixed(0);
	const levels = [{ fill, line }];
	while (levels[levels.length - 1].fill.length > TILE || levels.length < 3)
		levels.push(coarser(fill, line, 4 ** levels.length));
	const json = { id: "1", pid: 4711, start: "4711-1", now: 12.25, unix: 1764031000.123, allocator, page_bytes: PAGE, rss_bytes: rss, seen_bytes: rss, live_bytes: live, live: 26371, outside_bytes: 0, late: false, missing: null, milliseconds: 7.1,
		sentence: `${mb(rss)} MB is in memory. ${mb(live)} MB of it is live: 26,371 blocks. ${mb(empty)} MB (${Math.round(empty / rss * 100)} %) is empty pages that malloc keeps and malloc_trim gives back.`,
		advice: [`malloc_trim gives back ${mb(empty)} MB.`, "MALLOC_ARENA_MAX=2 keeps threads from having arenas of their own."], parts, swapped_bytes: 0, shared_bytes: 0, huge_bytes: 0,
		trim: { bytes: empty, least_bytes: Math.round(empty * 0.88), milliseconds: 80 }, cells, levels: levels.length, tile_cells: TILE, panels,
		mappings: [{ from: "0x7f9000000000", bytes: 4 * MB, resident_bytes: MB, location: "/srv/app/bloat.rb:3" }], lines };
	return { json, levels };
}

export function tile({ levels }, level, n) {
	const at = levels[level];
	if (!at || n * TILE >= at.fill.length)
		return null;
	return Buffer.concat([at.fill, at.line].map((plane) => plane.subarray(n * TILE, (n + 1) * TILE)));
}

// A bit for each page in which one of these lines has a block
export function bitsOf({ json, levels }, locations) {
	const bits = new Uint8Array(Math.ceil(json.cells / 8)), colours = json.lines.filter((l) => locations.includes(l.location)).map((l) => l.colour);
	levels[0].line.forEach((c, i) => {
		if (colours.includes(c))
			bits[i >> 3] |= 1 << (i & 7);
	});
	return bits;
}

export function whatIf({ json }, locations) {
	const chosen = json.lines.filter((l) => locations.includes(l.location)), sum = (name) => chosen.reduce((s, l) => s + l[name], 0);
	return { locations: chosen.length, blocks: sum("blocks"), bytes: sum("live_bytes"), empty_now_bytes: json.trim.bytes, empty_then_bytes: json.trim.bytes + sum("alone_bytes") };
}

export function pageAt({ json, levels }, address) {
	const panel = json.panels.find((p) => address >= Number(p.spans[0][0]) && address < Number(p.spans[0][0]) + p.cells * PAGE);
	const cell = panel ? panel.cell + (address - Number(panel.spans[0][0])) / PAGE : -1;
	const byte = panel ? levels[0].fill[cell] : 0, at = json.lines.find((l) => panel && l.colour === levels[0].line[cell]);
	const blocks = at ? [0, 1, 2].map((i) => ({ address: `0x${(address + i * 512).toString(16)}`, size: 100 + i, location: i < 2 ? at.location : null, generation: i ? 7 : null })) : [];
	return { page: `0x${address.toString(16)}`, state: ["absent", "empty", "end", "ruby"][byte & 63] || "used", live_bytes: blocks.length * 101, blocks, more: at ? 4 : 0 };
}
