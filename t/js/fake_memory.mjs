// SPDX-License-Identifier: GPL-2.0-or-later
// fake_memory.mjs - /map and what is below it of the made-up server (fake_server.mjs): [status, type, body, policy].

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { makeMap, tile, bitsOf, whatIf, pageAt } from "./memory_data.mjs";

const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const fill = (path, slots) => readFileSync(path, "utf8").replace(/\{\{(\w+)\}\}/g, (_, k) => slots[k] ?? "");
const json = (data) => [200, "application/json", JSON.stringify(data)];
const refuse = (status, line) => [status, "text/plain", `${line}\n`];

export class FakeMemory {
	constructor(o) {
		this.o = o;
		this.maps = new Map();
		this.taken = 0;
		this.trimmed = false;
	}

	made() {
		const key = String(this.trimmed);
		this.known ??= {};
		return this.known[key] ??= makeMap({ gigabytes: this.o.gigabytes, trimmed: this.trimmed, hostile: this.o.hostile });
	}

	take() {
		const map = this.made(), id = String(++this.taken);
		this.maps.set(id, { ...map, json: { ...map.json, id, unix: map.json.unix + this.taken * 2 } });
		return this.maps.get(id);
	}

	// The server forgets all snapshots.
	expire() {
		this.maps.clear();
	}

	trim() {
		this.trimmed = true;
		return "trim: 120 MB were given back to the system";
	}

	page(web, policy) {
		const base = escape(this.o.base), { json: map } = this.made();
		const row = (cells, location) => `<tr>${cells.map((n) => `<td class="num">${n}</td>`).join("")}<td class="location">${escape(location)}</td></tr>\n`;
		const main = fill(join(web, "map.html"), { base, sentence: escape(map.sentence), advice: `<ul>${map.advice.map((a) => `<li>${escape(a)}</li>`).join("")}</ul>\n`, bar: "",
			parts: map.parts.map((p) => row([p.bytes, ""], p.title)).join(""), lines: map.lines.map((l) => row([l.live_bytes, l.holds_bytes, "", l.alone_bytes, l.blocks], l.location)).join(""),
			trim: this.o["read-only"] ? "" : `<form action="${base}/map/trim" method="post"><button>Trim</button></form>\n`, exports: `<a href="${base}/map.json">JSON</a>` });
		return [200, "text/html", fill(join(web, "layout.html"), { title: "map", base, about: ` data-page="map"${this.o.family ? ` data-mount="${base}"` : ""}`, nav: `<a class="home" href="${base}/">mwrap</a><a class="help" href="${base}/help">?</a>`,
			version: "4.0", process: "pid 4711, up 3 h 12 min", main, css: `${base}/mwrap.css`, style: `<link rel="stylesheet" href="${base}/memory.css">\n`, script: `<script type="module" src="${base}/dist/mwrap.js"></script>\n` }), policy];
	}

	alone(web) {
		const { json: map, levels } = this.made(), cells = deflateSync(Buffer.concat([levels[0].fill, levels[0].line])).toString("base64");
		return [200, "text/html", fill(join(web, "dist/map_alone.html"), { title: "map", process: "pid 4711", json: JSON.stringify({ map, level: 0 }).replaceAll("<", "\\u003c"), cells })];
	}

	answer(web, policy, path, params) {
		if (path === "/map")
			return this.page(web, policy);
		if (path === "/map-alone")
			return this.alone(web);
		if (path === "/map.json")
			return this.o["no-map"] ? refuse(503, "map: no memory left for it") : json(this.take().json);
		if (path === "/map/trim")
			return json(this.made().json.trim);
		const at = params.getAll("at");
		if (path === "/map/whatif")
			return json(whatIf(this.made(), at));
		const page = /^\/map\/page\/(0x[0-9a-f]+)$/.exec(path);
		if (page)
			return json(pageAt(this.made(), Number(page[1])));
		const [, id, rest] = /^\/map\/(\w+)\/(.*)\.bin$/.exec(path) || [];
		const map = Number(id) <= (this.o.forget || 0) ? null : this.maps.get(id); // --forget=1: the first one is gone at once
		if (!map)
			return refuse(404, "map: no such snapshot: it is kept for 60 seconds");
		const bytes = rest === "at" ? Buffer.from(bitsOf(map, at)) : tile(map, ...rest.split("/").map(Number));
		return bytes ? [200, "application/octet-stream", bytes] : refuse(404, "map: no such tile");
	}
}
