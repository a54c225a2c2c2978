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

const WEB = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const MB = 1024 * 1024;
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const HOSTILE = [
	"/srv/app/<img src=x onerror=\"window.hostile=1\">.rb:1",
	"/srv/app/<script>window.hostile=1</script>.rb:2",
	"/srv/app/a\"b'c&amp;d.rb:3",
	"/srv/app/two\nlines\tand\ra tab.rb:4",
	"/srv/app/\ufffd\ufffdbytes.rb:5",
	"/srv/app/\u202egnp.rb:6",
	"javascript:window.hostile=1:7",
	"/srv/app/{{base}}${1}%2e%2f.rb:8",
];
const GEMS = ["activerecord-7.1.3", "actionpack-7.1.3", "rack-3.1.23", "puma-6.6.1", "nokogiri-1.16.2", "i18n-1.14.1", "json-2.7.2"];
const LEAK = "/usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb:51";

// The same numbers in every run
function random(seed) {
	let s = seed;
	return () => {
		s = (s * 1103515245 + 12345) & 0x7fffffff;
		return s / 0x7fffffff;
	};
}

function options(argv) {
	const o = { port: 0, locations: 300, base: "", age: 11520 };
	for (const arg of argv) {
		const [name, value] = arg.replace(/^--/, "").split("=");
		o[name] = value === undefined ? true : /^\d+$/.test(value) ? Number(value) : value;
	}
	return o;
}

function makeRow(id, location, kind, rnd) {
	const file = kind === "ruby" ? location.replace(/:\d+$/, "") : location.replace(/\(.*/s, "");
	const live = Math.floor(rnd() ** 6 * 4000);
	const size = 40 + Math.floor(rnd() ** 3 * 4000);
	const frees = rnd() < 0.2 ? 0 : Math.floor(rnd() ** 3 * 2e5);
	return { id, location, kind, size, fileLength: Buffer.byteLength(file), live, bytes: live * size, growth: Math.floor(live * size * rnd() * 0.6),
		frees, allocations: live + frees, total: (live + frees) * size, lifeSum: Math.floor(frees * rnd() * 12), lifeMax: frees ? Math.floor(rnd() * 300) : 0,
		base: 0, pace: rnd() < 0.1 ? rnd() : 0, sent: false };
}

function makeRows(n, empty) {
	const rnd = random(7);
	const rows = [];
	const add = (location, kind) => rows.push(makeRow(rows.length + 1, location, kind, rnd));
	if (empty)
		return rows;
	add(LEAK, "ruby");
	Object.assign(rows[0], { live: 92000, size: 2457, bytes: 92000 * 2457, growth: 92000 * 2457, frees: 0, allocations: 92000, total: 92000 * 2457, lifeSum: 0, lifeMax: 0, pace: 0 });
	if (n === 1)
		return rows;
	add("/srv/app/app/models/cache.rb:12", "ruby");
	Object.assign(rows[1], { live: 4410, size: 5000, bytes: 4410 * 5000, growth: 18 * MB, pace: 1 });
	HOSTILE.forEach((location) => add(location, "ruby"));
	add("(other)", "special");
	for (const so of ["libc.so.6(getdelim+0x7c) [0x7f]", "libcrypto.so.3(CRYPTO_malloc+0x1a) [0x7f]"])
		add(`/usr/lib/x86_64-linux-gnu/${so}`, "native");
	for (let i = 0; rows.length < n; i++) {
		const line = 1 + (i * 37) % 900, file = Math.floor(i / 7);
		if (i % 3 === 0)
			add(`/srv/app/app/${["models", "views", "jobs", "services"][file % 4]}/part_${file}.rb:${line}`, "ruby");
		else if (i % 11 === 1)
			add(`/usr/lib/ruby/3.1.0/set/part_${file}.rb:${line}`, "ruby");
		else
			add(`/usr/share/gems/gems/${GEMS[i % GEMS.length]}/lib/${GEMS[i % GEMS.length].split("-")[0]}/part_${file}.rb:${line}`, "ruby");
	}
	return rows;
}

let processes = 0;

class Process {
	constructor(o) {
		this.o = o;
		this.pid = 4711 + processes++;
		this.t = processes === 1 ? o.age : 5;
		this.start = `${this.pid}-${1000 + processes}`;
		this.unix0 = Math.floor(Date.now() / 1000) - this.t;
		this.rows = makeRows(o.locations, o.empty);
		this.leaking = !o.flat;
		this.paused = false;
		this.bt = 0;
		this.mark = null;
		this.resets = 0;
		this.rnd = random(processes);
		this.fine = [];
		this.coarse = [];
		this.long = [];
		this.events = this.t > 300 ? [{ t: this.t - 240, kind: "annotation", text: "deploy-17" }] : [];
		this.t0 = this.t;
		for (const row of this.rows)
			row.bytes0 = row.bytes;
		this.past();
	}

	get live() {
		return this.rows.reduce((n, r) => n + r.bytes, 0);
	}

	// What the server would have kept: it leaked since three quarters of the time
	past() {
		const now = this.live;
		const at = (t) => {
			const grown = this.leaking ? Math.max(0, (this.t - t) / this.t) * 0.75 * now : 0;
			return this.sample(t, Math.max(now * 0.2, now - grown) * (1 + (this.rnd() - 0.5) * 0.004));
		};
		for (let t = 0; t <= this.t; t += Math.max(120, Math.ceil(this.t / 720)))
			this.long.push(at(t));
		for (let t = Math.max(0, this.t - 86400); t <= this.t; t += 60)
			this.coarse.push(at(t));
		for (let t = Math.max(0, this.t - 899); t <= this.t; t++)
			this.fine.push(at(t));
	}

	sample(t, live) {
		const heap = this.o["no-ruby"] ? null : 96 * MB;
		const free = Math.round(live * 0.07), files = 30 * MB, tracker = 12 * MB;
		return { t, live: Math.round(live), heap, free, files, tracker, anon: 8 * MB, stacks: 2 * MB, rss: Math.round(live * 1.12 + (heap || 0) + 60 * MB) };
	}

	// Live bytes of a row at a time; null before there was one
	bytesAt(row, t) {
		if (t < (row.born || 0))
			return null;
		if (t < this.t0)
			return row.location === LEAK && this.leaking ? Math.round(row.bytes0 * (1 - 0.75 * (this.t0 - t) / this.t0)) : row.bytes0;
		let held = row.bytes0;
		for (const [at, bytes] of row.log || [])
			if (at <= t)
				held = bytes;
		return held;
	}

	times(query) {
		if (query.has("from"))
			return [Number(query.get("from")), Math.min(Number(query.get("to")), this.t)];
		return [Math.max(0, this.t - ({ "1h": 3600, "6h": 21600, "24h": 86400, all: Infinity }[query.get("range")] || 900)), this.t];
	}

	// Those with the most bytes; with --locations=50000 not all of them, by far
	locations(query) {
		const [from, to] = this.times(query), points = Math.max(2, Number(query.get("points") || 48));
		const t = Array.from({ length: points }, (_, i) => Math.round(from + (to - from) * i / (points - 1)));
		const only = query.get("location");
		const rows = only ? this.rows.filter((r) => r.location === only) : [...this.rows].sort((a, b) => b.bytes - a.bytes).slice(0, 300);
		return { start: this.start, now: this.t, unix: this.unix0 + this.t, from, to, t, rest: t.map(() => 0), rows: rows.map((row) => {
			const v = t.map((at) => this.bytesAt(row, at));
			const [first, middle, last] = [0, v.length >> 1, v.length - 1].map((i) => v[i] ?? 0);
			while (v.length > 1 && v[v.length - 1] === v[v.length - 2])
				v.pop();
			return [row.id, row.location, row.fileLength, row.kind, v, to - from < 30 ? null : 2 * Math.max(0, Math.min(middle - first, last - middle))];
		}) };
	}

	verdict(query) {
		const [from, to] = this.times(query), chosen = query.size > 0;
		const leak = this.rows.find((r) => r.location === LEAK);
		const change = leak ? this.bytesAt(leak, to) - this.bytesAt(leak, from) : 0;
		const kind = this.says || (this.paused ? "paused" : this.leaking && leak ? "grows" : "flat");
		const part = (name) => ({ now: this.sample(to, this.live)[name], change });
		const text = { grows: `Grows by ${(change / MB * 60 / Math.max(1, to - from)).toFixed(2)} MB a minute${chosen ? ` over ${to - from} s` : ", on all scales"}: 96 % of RSS's growth, 91 % of that at redcarpet.rb:51.`,
			flat: "Nothing grows: flat for 3 hours.", paused: "Tracking is paused: what is allocated now isn't counted." }[kind] || `It is ${kind}.`;
		const at = kind === "grows" ? LEAK : null;
		return { start: this.start, now: this.t, unix: this.unix0 + this.t, kind, growing: kind === "grows", sentence: text, next: kind === "grows" ? "Look at what redcarpet.rb:51 keeps." : "",
			at, at_text: at && "redcarpet.rb:51", rate_bytes_per_minute: 0, rate_of: null, since: null, range: { from, to }, confidence: 0.97, watch_seconds: 0,
			parts: Object.fromEntries(["rss", "live", "heap", "free", "anon", "files", "stacks", "tracker"].map((name) => [name, part(name)])), locations: [] };
	}

	// A second passes. Returns the rows that changed.
	tick() {
		this.t++;
		const changed = [];
		for (const row of this.rows) {
			const leak = row.location === LEAK && this.leaking;
			if (this.paused || (!leak && (!row.pace || this.rnd() > 0.3)))
				continue;
			const n = leak ? 140 : Math.floor(this.rnd() * 20 * row.pace);
			const freed = leak ? 0 : Math.min(Math.floor(this.rnd() * 20 * row.pace), row.live);
			row.allocations += n;
			row.frees += freed;
			row.live += n - freed;
			row.total += n * row.size;
			row.bytes += (n - freed) * row.size;
			row.growth += (n - freed) * row.size;
			row.lifeSum += freed * 3;
			(row.log ||= []).push([this.t, row.bytes]);
			changed.push(row);
		}
		if (this.leaking && this.t % 5 === 0 && this.rows.length > 1 && this.rows.length < this.o.locations + 40) {
			const row = makeRow(this.rows.length + 1, `/srv/app/late_${this.rows.length}.rb:9`, "ruby", this.rnd);
			row.bytes0 = row.bytes;
			row.born = this.t;
			this.rows.push(row);
			changed.push(row);
		}
		this.fine.push(this.sample(this.t, this.live));
		if (this.t % 60 === 0)
			this.coarse.push(this.fine[this.fine.length - 1]);
		return changed;
	}

	values(row, whole) {
		const { id, total, allocations, frees, growth, bytes, live, lifeSum, lifeMax } = row;
		const mark = this.mark === null ? 0 : bytes - row.base;
		const first = [id, total, allocations, frees, growth, bytes, live, lifeSum, lifeMax, mark];
		return whole ? [...first, row.location, row.fileLength, row.kind] : first;
	}

	point() {
		const { rss, live, heap } = this.sample(this.t, this.live);
		return { t: this.t, rss, live, heap, blocks: this.rows.reduce((n, r) => n + r.live, 0), locations: this.rows.length, generation: this.t * 3,
			bt: this.bt, paused: this.paused, overruns: 0, warnings: this.paused ? ["Tracking is paused: what is allocated now isn\u2019t counted."] : [],
			mark: this.mark, resets: this.resets };
	}

	hello() {
		const noRuby = Boolean(this.o["no-ruby"]);
		return { pid: this.pid, title: noRuby ? "nginx: worker" : "puma 6.4 [app] worker 1", version: "4.0", ruby: noRuby ? null : "3.4.5", uptime: this.t,
			unix: this.unix0 + this.t, life_unit: noRuby ? "bytes" : "gc", read_only: Boolean(this.o["read-only"]), source: !this.o["no-source"],
			start: this.start, tick: 1 };
	}

	history(query) {
		const names = ["t", "rss", "live", "heap", "files", "tracker", "free", "anon", "stacks"];
		const columns = (list) => Object.fromEntries(names.map((k) => [k, list.map((p) => p[k])]));
		const grid = (list, n, step) => ({ step, ...columns(list.slice(-n)) });
		const head = { start: this.start, now: this.t, unix: this.unix0 + this.t, events: this.events };
		if (![...query.keys()].length)
			return { ...head, fine: grid(this.fine, 900, 1), coarse: grid(this.coarse, 1440, 60), long: grid(this.long, 720, 120), marks: this.mark === null ? [] : [this.mark] };
		const [from, to] = this.times(query), points = Number(query.get("points") || 300);
		const reach = (list) => list.length && list[0].t <= from + 60;
		const all = (reach(this.fine) ? this.fine : reach(this.coarse) ? this.coarse : this.long).filter((p) => p.t >= from && p.t <= to);
		const division = (p) => Math.min(points - 1, Math.floor((p.t - from) * points / (to - from || 1)));
		return { ...head, from, to, first: Math.min(...[this.long, this.coarse, this.fine].filter((l) => l.length).map((l) => l[0].t)), ...columns(all.filter((p, i) => i + 1 === all.length || division(all[i + 1]) > division(p))) };
	}

	at(row, limit, oldest) {
		const blocks = (n, age) => Array.from({ length: Math.max(0, Math.min(n, row.live)) }, (_, i) =>
			({ size: row.size, generation: this.t * 3 - age(i), age: age(i), address: `0x${(0x7f0000000000 + i * 4096).toString(16)}` }));
		const from = 2 ** Math.floor(Math.log2(row.size));
		const part = (p) => ({ count: Math.floor(row.live * p), bytes: Math.floor(row.bytes * p) });
		const bySize = row.live ? [{ from: from / 2, to: from - 1, ...part(0.1) }, { from, to: from * 2 - 1, ...part(0.82) }, { from: from * 2, to: from * 4 - 1, ...part(0.08) }] : [];
		const byAge = row.live ? [0, 1, 2, 4, 8, 16, 32, 64].map((a, i) => ({ from: a, to: a < 2 ? a : a * 2 - 1, ...part([0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.2][i]) })) : [];
		return { total: row.total, allocations: row.allocations, frees: row.frees, growth: row.growth, live_bytes: row.bytes, live: row.live,
			mean_life: row.frees ? row.lifeSum / row.frees : null, max_life: row.lifeMax, location: row.location, generation: this.t * 3,
			life_unit: this.hello().life_unit, by_size: bySize, by_age: byAge, lives: blocks(limit, (i) => i), oldest: blocks(oldest, (i) => 3000 - i) };
	}
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
		if (!/^(mwrap\.css|dist\/[\w.]+)$/.test(name) || !existsSync(join(WEB, name)))
			return this.text(res, 404, "no such page");
		res.writeHead(200, { "Content-Type": `${type}; charset=utf-8`, "X-Content-Type-Options": "nosniff", "Content-Encoding": "gzip" });
		res.end(gzipSync(readFileSync(join(WEB, name)))); // as the server has them
	}

	// The server's own page, filled as far as it matters here
	home(res) {
		const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
		const template = (name, slots) => readFileSync(join(WEB, name), "utf8").replace(/\{\{(\w+)\}\}/g, (_, k) => slots[k] ?? "");
		const base = escape(this.o.base);
		const top = [...this.process.rows].sort((a, b) => b.growth - a.growth).slice(0, 20);
		const rows = top.map((r) => `<tr><td class="num">${r.growth}</td><td class="location">${escape(r.location)}</td></tr>`).join("\n");
		const main = template("each.html", { base, heading: "What is growing", past: "", caption: "Locations, by growth",
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

	answer(req, res) {
		const url = new URL(req.url, "http://localhost");
		this.asked.push(`${req.method} ${req.url}`);
		if (!url.pathname.startsWith(`${this.o.base}/`))
			return this.text(res, 404, "no such page");
		const path = url.pathname.slice(this.o.base.length).replace(this.o.family ? /^\/4711(?=\/)/ : /^$/, "");
		if (req.method === "POST")
			return this.change(req, res, path, url.searchParams);
		if (path === "/")
			return this.home(res);
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
