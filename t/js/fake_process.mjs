// SPDX-License-Identifier: GPL-2.0-or-later
// fake_process.mjs - the made-up process behind fake_server.mjs: an app of N locations of which one leaks.

const MB = 1024 * 1024;
export const HOSTILE = [
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

export class Process {
	constructor(o) {
		this.o = o;
		this.pid = 4711 + processes++;
		this.t = processes === 1 ? o.age : 5;
		this.start = `${this.pid}-${1000 + processes}`;
		this.unix0 = Math.floor(Date.now() / 1000) - this.t;
		this.rows = makeRows(o.locations, o.empty);
		this.leaking = !o.flat;
		this.paused = false;
		this.trace = { recording: false, path: "", seconds: 0, events: 0, lost: 0, bytes: 0, why: "" };
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

	// The server's history: the process leaked since three quarters of the time
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
			const v = t.map((at) => this.bytesAt(row, at)), rank = this.rise(row, t);
			while (v.length > 1 && v[v.length - 1] === v[v.length - 2])
				v.pop();
			return [row.id, row.location, row.fileLength, row.kind, v, to - from < 30 ? null : rank];
		}) };
	}

	// Twice what it gained in the worse half of the times
	rise(row, t) {
		const [first, middle, last] = [0, t.length >> 1, t.length - 1].map((i) => this.bytesAt(row, t[i]) ?? 0);
		return 2 * Math.max(0, Math.min(middle - first, last - middle));
	}

	growers(from, to) {
		const t = [from, (from + to) >> 1, to];
		return to - from < 30 ? [] : this.rows.map((row) => ({ location: row.location, since: from, change: this.rise(row, t), rate_bytes_per_minute: this.rise(row, t) / (to - from) * 60 }))
			.filter((g) => g.change > 0).sort((a, b) => b.change - a.change).slice(0, 32);
	}

	verdict(query) {
		const [from, to] = this.times(query), chosen = query.size > 0;
		const leak = this.rows.find((r) => r.location === LEAK);
		const change = leak ? this.bytesAt(leak, to) - this.bytesAt(leak, from) : 0;
		const kind = this.says || (this.paused ? "paused" : this.leaking && leak ? "grows" : "flat");
		const part = (name) => ({ now: this.sample(to, this.live)[name], change });
		const text = { grows: `Grows by ${(change / MB * 60 / Math.max(1, to - from)).toFixed(2)} MB a minute${chosen ? ` over ${to - from} s` : ", on all scales"}, 91 % of that at redcarpet.rb:51; it explains 96 % of RSS's growth.`,
			flat: "Nothing grows: flat for 3 hours.", paused: "Tracking is paused: allocations now aren't counted." }[kind] || `It is ${kind}.`;
		const at = kind === "grows" ? LEAK : null;
		return { start: this.start, now: this.t, unix: this.unix0 + this.t, kind, growing: kind === "grows", sentence: text, next: kind === "grows" ? "Look at what redcarpet.rb:51 keeps." : "",
			at, at_text: at && "redcarpet.rb:51", rate_bytes_per_minute: 0, rate_of: null, since: null, range: { from, to }, confidence: 0.97, watch_seconds: 0,
			parts: Object.fromEntries(["rss", "live", "heap", "free", "anon", "files", "stacks", "tracker"].map((name) => [name, part(name)])), locations: [],
			growers: kind === "flat" ? [] : this.growers(from, to) };
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
		return [...first, ...(whole ? [row.location, row.fileLength, row.kind] : []), 0];
	}

	point() {
		const { rss, live, heap } = this.sample(this.t, this.live);
		return { t: this.t, rss, live, heap, blocks: this.rows.reduce((n, r) => n + r.live, 0), locations: this.rows.length, generation: this.t * 3,
			bt: this.bt, paused: this.paused, overruns: 0, warnings: this.paused ? ["Tracking is paused: allocations now aren\u2019t counted."] : [],
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
