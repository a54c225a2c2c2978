// SPDX-License-Identifier: GPL-2.0-or-later
// fake_server.mjs - the server's side of the page, without a process behind it:
// a made-up app of N locations of which one leaks. For browser tests and for
// looking at the page. Only Node's own modules.
//
//	node t/js/fake_server.mjs [--port=0] [--locations=300] [--base=/mwrap]
//		[--read-only] [--no-ruby] [--flat] [--empty] [--no-source] [--hand]
//		[--age=SECONDS] [--workers] [--no-curves] [--no-verdict] [--forgetful]
//		[--nodes=3000] [--hostile] [--no-stacks] of /flame
//		[--gigabytes=10] [--family] [--no-map] [--forget=1] of /map
//
// --workers: of the answers to single questions, every second one is another
// process's. --no-curves, --no-verdict: no such page. --forgetful: the stream begins
// with no rows, and each comes as if it were new when it changes.
//
// Prints "listening PORT" when it is ready, then does what stdin says, a line each:
//	tick [N]   N ticks pass (with --hand: only then)
//	die        the process ends: connections are cut, nobody listens
//	back       another process listens on the same port
//	cut        connections are cut, the process goes on
//	flat, leak nothing grows from now on; it leaks again
//	say KIND   the sentence is of that kind from now on
//	expire     the snapshots of /map are gone
//	watchers   prints how many streams are open
//	asked      prints all requests since the last time as JSON
// It ends with its stdin.

import { createServer } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { flamePage } from "./fake_flame.mjs";
import { FakeMemory } from "./fake_memory.mjs";
import { HOSTILE, Process } from "./fake_process.mjs";

const WEB = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

function options(argv) {
	const o = { port: 0, locations: 300, base: "", age: 11520 };
	for (const arg of argv) {
		const [name, value] = arg.replace(/^--/, "").split("=");
		o[name] = value === undefined ? true : /^\d+$/.test(value) ? Number(value) : value;
	}
	return o;
}

class Server {
	constructor(o) {
		this.o = o;
		this.watchers = new Set();
		this.sockets = new Set();
		this.asked = [];
		this.memory = new FakeMemory(o);
		this.begin();
	}

	begin() {
		this.process = new Process(this.o);
		this.http = createServer((req, res) => this.answer(req, res));
		this.http.on("connection", (s) => {
			this.sockets.add(s);
			s.on("close", () => this.sockets.delete(s));
		});
		this.http.listen(this.o.port, "127.0.0.1", () => {
			this.o.port = this.http.address().port;
			console.log(`listening ${this.o.port}`);
		});
	}

	cut() {
		for (const s of this.sockets)
			s.destroy();
		this.watchers.clear();
	}

	die() {
		this.http.close();
		this.cut();
		console.log("died");
	}

	ticks(n) {
		for (let i = 0; i < n; i++) {
			const changed = this.process.tick();
			for (const res of this.watchers)
				this.tell(res, changed);
			for (const row of changed)
				row.sent = true;
		}
	}

	event(res, name, data) {
		res.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	tell(res, changed) {
		const p = this.process;
		if (changed.length)
			this.event(res, "rows", { t: p.t, all: false, more: false, rows: changed.map((r) => p.values(r, !res.known.has(r.id))), gone: [] });
		for (const row of changed)
			res.known.add(row.id);
		this.event(res, "point", p.point());
	}

	watch(res) {
		const p = this.process;
		if (this.watchers.size >= 8)
			return this.text(res, 503, "8 pages watch already");
		res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
		this.event(res, "hello", p.hello());
		const rows = [...p.rows].sort((a, b) => b.growth - a.growth);
		res.known = new Set();
		if (this.o.forgetful) {
			this.event(res, "rows", { t: p.t, all: true, more: false, rows: [], gone: [] });
		} else {
			p.rows.forEach((r) => res.known.add(r.id));
			for (let i = 0; i === 0 || i < rows.length; i += 2000)
				this.event(res, "rows", { t: p.t, all: i === 0, more: i + 2000 < rows.length, rows: rows.slice(i, i + 2000).map((r) => p.values(r, true)), gone: [] });
		}
		this.event(res, "point", p.point());
		this.watchers.add(res);
		res.on("close", () => this.watchers.delete(res));
	}

	text(res, status, line) {
		res.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" });
		res.end(`${line}\n`);
	}

	made(res, [status, type, body, policy]) {
		res.writeHead(status, { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-store", ...(policy && { "Content-Security-Policy": policy }) });
		res.end(body);
	}

	json(res, data) {
		res.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
		res.end(JSON.stringify(data));
	}

	file(res, name) {
		const type = { js: "text/javascript", css: "text/css", html: "text/html" }[name.split(".").pop()] || "text/plain";
		if (!/^((?:mwrap|memory)\.css|dist\/[\w.]+)$/.test(name) || !existsSync(join(WEB, name)))
			return this.text(res, 404, "no such page");
		res.writeHead(200, { "Content-Type": `${type}; charset=utf-8`, "X-Content-Type-Options": "nosniff", "Content-Encoding": "gzip" });
		res.end(gzipSync(readFileSync(join(WEB, name)))); // as the server has them
	}

	// The server's own page, of a location or of all, filled as far as it matters here
	home(res, location) {
		const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
		const template = (name, slots) => readFileSync(join(WEB, name), "utf8").replace(/\{\{(\w+)\}\}/g, (_, k) => slots[k] ?? "");
		const base = escape(this.o.base);
		const top = [...this.process.rows].sort((a, b) => b.growth - a.growth).slice(0, 20);
		const rows = top.map((r) => `<tr><td class="num">${r.growth}</td><td class="location">${escape(r.location)}</td></tr>`).join("\n");
		const main = location ? template("at.html", { location: escape(location), holders: `href="${base}/holders?location=${escape(encodeURIComponent(location))}"` }) : template("each.html", { base, heading: "Growing locations", past: "", caption: "Locations, by growth",
			head: '<th scope="col" class="num">Growth</th><th scope="col">Location</th>', rows });
		res.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": CSP, "Referrer-Policy": "same-origin" });
		res.end(template("layout.html", { title: "growth", base, about: ' data-page="home"', nav: `<a class="home" href="${base}/">mwrap</a>`, version: "4.0", process: `pid ${this.process.pid}, up 3 h 12 min`, main,
			css: `${base}/mwrap.css`, script: `<link rel="stylesheet" href="${base}/dist/uplot.css">\n` +
				`<script type="module" src="${base}/dist/mwrap.js"></script>\n` }));
	}

	change(req, res, path, query) {
		const p = this.process;
		const note = (kind, text = "") => p.events.push({ t: p.t, kind, text });
		const said = {
			"/mark": () => { if (query.has("name")) { note("mark", query.get("name")); return `mark: set: ${query.get("name")}`; } p.mark = p.t; note("mark"); p.rows.forEach((r) => { r.base = r.bytes; }); return "mark: growth is shown since now, too"; },
			"/mark/clear": () => { p.mark = null; return "mark: it is gone"; },
			"/annotate": () => { note("annotation", query.get("text")); return "annotated"; },
			"/reset": () => { p.resets++; note("reset"); p.rows.forEach((r) => Object.assign(r, { total: 0, allocations: 0, frees: 0, growth: 0, lifeSum: 0, lifeMax: 0 })); return "reset: the counters start again from zero"; },
			"/map/trim": () => this.memory.trim(),
			"/trim": () => { note("trim"); return "trim: 12.3 MB were given back to the system"; },
			"/pause": () => { p.paused = true; note("pause"); return "pause: tracking is off"; },
			"/ctl": () => { p.bt = Number(query.get("bt")); note("ctl", `bt is ${p.bt}`); return `bt is ${p.bt}`; },
			"/resume": () => { p.paused = false; note("resume"); return "resume: tracking is on"; },
		}[path];
		if (!said)
			return this.text(res, 404, "no such page");
		if (this.o["read-only"])
			return this.text(res, 403, "refused: the option read_only is set");
		if (req.headers.accept !== "application/json")
			return this.text(res, 400, "the page asks for JSON");
		this.json(res, { ok: true, said: said() });
		for (const watcher of this.watchers)
			this.tell(watcher, p.rows);
	}

	// POST /trace/start and /trace/stop. Each look at /trace.json finds a million events more.
	record(res, path) {
		const { trace } = this.process, start = path === "/trace/start";
		if (this.o["read-only"])
			return this.text(res, 403, "refused: the option read_only is set");
		if (trace.recording === start)
			return this.text(res, 409, start ? "trace: it records already" : "trace: nothing is recorded");
		Object.assign(trace, start ? { recording: true, path: this.o.hostile ? HOSTILE[0] : "/srv/app.4711.mwtrace", seconds: 0, events: 0, bytes: 0, why: "" } : { recording: false, why: "it was stopped" });
		return this.json(res, { path: trace.path, recording: start });
	}

	traced() {
		const { trace } = this.process;
		if (trace.recording)
			Object.assign(trace, { seconds: trace.seconds + 2, events: trace.events + 1e6, bytes: trace.bytes + 2.5 * 1024 * 1024 });
		return trace;
	}

	answer(req, res) {
		const url = new URL(req.url, "http://localhost");
		this.asked.push(`${req.method} ${req.url}`);
		if (!url.pathname.startsWith(`${this.o.base}/`))
			return this.text(res, 404, "no such page");
		const path = url.pathname.slice(this.o.base.length).replace(this.o.family ? /^\/4711(?=\/)/ : /^$/, "");
		if (path === "/trace.json")
			return this.json(res, this.traced());
		if (req.method === "POST" && path.startsWith("/trace/"))
			return this.record(res, path);
		if (req.method === "POST")
			return this.change(req, res, path, url.searchParams);
		if (path === "/")
			return this.home(res);
		const place = /^\/at\/([^/]+?)$/.exec(path);
		if (place && !path.endsWith(".json"))
			return this.home(res, decodeURIComponent(place[1]));
		if (["/flame", "/flame.json", "/alone"].includes(path))
			return this.made(res, flamePage(WEB, this.o, CSP, path, url.searchParams));
		if (path === "/map" || path === "/map-alone" || path === "/map.json" || path.startsWith("/map/"))
			return this.made(res, this.memory.answer(WEB, CSP, path, url.searchParams));
		if (path === "/stats.json")
			return this.json(res, { pid: 4711, uptime: this.process.t });
		if (path === "/family.json")
			return this.json(res, { processes: [{ pid: 4711, title: "puma 6.4 [app]", state: "answers" }] });
		if (path === "/live")
			return this.watch(res);
		if (path === "/history.json")
			return this.json(res, this.own(this.process.history(url.searchParams)));
		if (path === "/verdict.json")
			return this.o["no-verdict"] ? this.text(res, 404, "no such page") : this.json(res, this.own(this.process.verdict(url.searchParams)));
		if (path === "/history/locations.json")
			return this.o["no-curves"] ? this.text(res, 404, "no such page") : this.json(res, this.own(this.process.locations(url.searchParams)));
		const at = /^\/at\/([^/]+)\.json$/.exec(path);
		if (at || path === "/source")
			return this.one(res, url, at ? decodeURIComponent(at[1]) : url.searchParams.get("location"), Boolean(at));
		return this.file(res, path.slice(1));
	}

	// With --workers, every second answer is another's
	own(json) {
		if (!this.o.workers || (this.turn = !this.turn))
			return json;
		return { ...json, start: "1-1", sentence: "Another process answered.", rows: [], t: [1], rss: [1], live: [1], heap: [1] };
	}

	one(res, url, location, at) {
		const row = this.process.rows.find((r) => r.location === location);
		if (!row)
			return this.text(res, 404, "no such location: nothing was allocated there");
		if (at)
			return this.json(res, this.process.at(row, Number(url.searchParams.get("limit") || 1e9), Number(url.searchParams.get("oldest") || 0)));
		if (this.o["no-source"])
			return this.text(res, 403, "source is off");
		const m = /^(.*):(\d+)$/s.exec(location);
		if (!m || row.kind !== "ruby")
			return this.text(res, 404, "the file can't be read");
		const line = Number(m[2]), first = Math.max(1, line - 5);
		const lines = Array.from({ length: 11 }, (_, i) => (first + i === line ? "\t\t@renderer = Renderer.new(options) # <b>\"kept\"</b> & never freed" : `\t\t# line ${first + i}`));
		this.json(res, { location, file: m[1], line, first, lines, truncated: false });
	}

	command(line) {
		const [word, n] = line.trim().split(" ");
		const p = this.process;
		if (word === "tick")
			this.ticks(Number(n) || 1);
		else if (word === "die")
			this.die();
		else if (word === "back")
			this.begin();
		else if (word === "cut")
			this.cut();
		else if (word === "flat" || word === "leak")
			p.leaking = word === "leak";
		else if (word === "expire")
			this.memory.expire();
		else if (word === "say")
			p.says = n || null;
		else if (word === "watchers")
			console.log(this.watchers.size);
		else if (word === "asked")
			console.log(JSON.stringify(this.asked.splice(0)));
	}
}

const o = options(process.argv.slice(2));
const server = new Server(o);
if (!o.hand)
	setInterval(() => server.ticks(1), 1000).unref();
createInterface({ input: process.stdin }).on("line", (line) => server.command(line)).on("close", () => process.exit(0));
