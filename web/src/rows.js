// SPDX-License-Identifier: GPL-2.0-or-later
// rows.js - all locations, as the stream tells them. Numbers are in typed
// arrays by slot, so that 50,000 rows are filtered, summed and sorted without
// making objects. Slots of rows that are gone are used again.

import { fileLength, gemOf, fileOf, dirOf } from "./place.js";
import { Series, T, BYTES } from "./series.js";
import { Curves } from "./curves.js";
import { Kinds } from "./kinds.js";
import { slopeKey } from "./sort.js";

// The values of a row of an event, in the order of the contract.
export const NUMBERS = ["total", "allocations", "frees", "growth", "liveBytes", "live", "lifeSum", "lifeMax", "mark"];
export const OBJECTS = ["objects", "objectBytes", "objectSamples", "objectVariance"]; // in an array, which is the last value; 0: no objects
const OWN = ["rate", "base", "grown", "rank"]; // the page computes these
const LATELY = 10; // seconds that allocations a second are of
const FIRST_NEW = 1 + NUMBERS.length; // a known row comes with its id, the numbers and the objects only

export class Rows {
	constructor() {
		this.clear();
	}

	clear() {
		this.capacity = 0;
		this.slots = 0;         // slots ever used: 0..slots-1, some of them free
		this.size = 0;          // rows
		this.version = (this.version || 0) + 1; // changes when rows come or go
		this.bySlot = new Map(); // id → slot
		this.free = [];
		this.id = [];
		this.location = [];
		this.lower = [];        // lower-cased once: filters look here
		this.kind = [];
		this.fileLength = [];
		this.series = [];
		this.used = new Uint8Array(0);
		this.filled = new Float64Array(0); // the version when a row came into the slot
		for (const name of [...NUMBERS, ...OBJECTS, ...OWN])
			this[name] = new Float64Array(0);
		this.names = { file: [], dir: [], gem: [] }; // made when first asked for
		this.gems = new Map();  // kind and file → gem
		this.lowers = new Map(); // gem → lower-cased
		this.kept = new Map();  // id → {location, series} of rows that may come again
		this.hot = new Map();   // slot → [t, allocations, ...] of those that changed lately: they have a rate
		this.now = 0;
		this.told = false;      // the first ones are all here
		this.full = false;      // and there were some: one that comes now is new
		this.curves ||= new Curves();
		this.kinds ||= new Kinds();
		this.mentioned = null;     // the location that the server's sentence names
		this.growing = null;    // location → {since, rate, change} of those that grow, by the same answer; null: not known
		this.marked = null;     // the tab's mark: {t, base: id → live bytes then}
	}

	// All rows come anew, of the same process: their curves go on.
	again() {
		const { marked, mentioned, growing } = this;
		const kept = this.size ? new Map() : this.kept; // none came since the last time
		for (const [id, slot] of this.bySlot)
			kept.set(id, { location: this.location[slot], series: this.series[slot] });
		this.clear();
		this.kept = kept;
		Object.assign(this, { marked, mentioned, growing });
	}

	// One "rows" event. Returns how many rows it had.
	apply(event) {
		if (event.all)
			this.again();
		this.now = Math.max(this.now, event.t);
		for (const values of event.rows)
			this.put(event.t, values);
		for (const id of event.gone || [])
			this.remove(id);
		if (!event.more) {
			// none at all may be an answer without its rows: the next rows aren't new then
			this.full ||= !this.told && this.size > 0;
			this.told = true;
			if (this.full)
				this.kept.clear();
		}
		return event.rows.length;
	}

	put(t, values) {
		let slot = this.bySlot.get(values[0]);
		if (slot === undefined) {
			if (values.length <= FIRST_NEW + 1)
				return; // changes of a row that we were never told: nothing to show
			slot = this.add(t, values);
		}
		const recent = this.hot.get(slot);
		if (recent)
			recent.push(t, values[2]);
		else if (this.series[slot].n && this.allocations[slot] >= 0) // else this is its first value, which says nothing of when
			this.hot.set(slot, [Math.max(this.series[slot].last, t - LATELY), this.allocations[slot], t, values[2]]);
		for (let i = 0; i < NUMBERS.length; i++)
			this[NUMBERS[i]][slot] = values[i + 1];
		const objects = values.at(-1);
		for (let i = 0; i < OBJECTS.length; i++)
			this[OBJECTS[i]][slot] = Array.isArray(objects) ? objects[i] : 0;
		this.series[slot].push(t, this.liveBytes[slot], this.live[slot], this.allocations[slot], this.frees[slot]);
	}

	add(t, values) {
		const slot = this.free.length ? this.free.pop() : this.slots++;
		if (slot >= this.capacity)
			this.reserve(slot + 1);
		const [location, length, kind] = values.slice(FIRST_NEW);
		this.bySlot.set(values[0], slot);
		this.used[slot] = 1;
		this.id[slot] = values[0];
		this.location[slot] = location;
		this.lower[slot] = location.toLowerCase();
		this.kind[slot] = kind;
		this.fileLength[slot] = fileLength(location, length, kind);
		const kept = this.kept.get(values[0]);
		const known = kept?.location === location;
		this.series[slot] = known ? kept.series : new Series();
		this.rate[slot] = 0;
		this.base[slot] = this.marked?.base.get(values[0]) || 0;
		this.grown[slot] = NaN;
		this.rank[slot] = this.rankOf(slot);
		for (const list of Object.values(this.names))
			list[slot] = undefined;
		if (known)
			this.allocations[slot] = NaN; // as it was when it was told last, which may be long ago
		else if (this.full && !this.curves.of(values[0], location)) { // not there before: it grew from nothing
			this.series[slot].push(Math.max(t - 1, 0), 0, 0, 0, 0);
			this.allocations[slot] = 0;
		}
		this.size++;
		this.filled[slot] = ++this.version;
		return slot;
	}

	remove(id) {
		const slot = this.bySlot.get(id);
		if (slot === undefined)
			return;
		this.bySlot.delete(id);
		this.hot.delete(slot);
		this.used[slot] = 0;
		this.free.push(slot);
		this.size--;
		this.version++;
	}

	reserve(n) {
		this.capacity = Math.max(n, 256, this.capacity * 2);
		for (const name of [...NUMBERS, ...OWN, "used", "filled"]) {
			const more = new this[name].constructor(this.capacity);
			more.set(this[name]);
			this[name] = more;
		}
	}

	// Once a tick: allocations a second over the last ten, of rows that changed lately.
	tick(t) {
		this.now = Math.max(this.now, t);
		for (const [slot, recent] of this.hot) {
			const from = this.now - LATELY;
			if (recent[recent.length - 2] <= from) {
				this.rate[slot] = 0;
				this.hot.delete(slot);
				continue;
			}
			let i = 0;
			while (recent[i + 2] <= from)
				i += 2;
			recent.splice(0, i);
			const seconds = this.now - Math.max(recent[0], from);
			this.rate[slot] = seconds > 0 ? Math.max(0, recent[recent.length - 1] - recent[1]) / seconds : 0;
		}
	}

	// Sets the tab's mark, or takes it away (null).
	setMark(marked) {
		this.marked = marked;
		for (let slot = 0; slot < this.slots; slot++)
			this.base[slot] = marked?.base.get(this.id[slot]) || 0;
	}

	// A mark at this moment: every row's live bytes, if any
	moment() {
		const base = new Map();
		for (const [id, slot] of this.bySlot)
			if (this.liveBytes[slot])
				base.set(id, this.liveBytes[slot]);
		return { t: this.now, base };
	}

	// Growth as the table shows it; since: {kind: "start", "reset", "mark" or "range", from, to}. NaN: not known.
	measure(since) {
		const { grown, growth, liveBytes, base, slots } = this;
		if (since.kind === "range")
			for (let slot = 0; slot < slots; slot++)
				grown[slot] = this.used[slot] ? this.change(slot, since.from, since.to) : 0;
		else
			for (let slot = 0; slot < slots; slot++)
				grown[slot] = since.kind === "mark" ? liveBytes[slot] - base[slot] : growth[slot];
	}

	curve(slot) {
		return this.curves.of(this.id[slot], this.location[slot]);
	}

	// Live bytes at `to` less those at `from`: as the server says, or as far as the tab knows
	change(slot, from, to) {
		const s = this.series[slot], curve = this.curve(slot);
		if (curve && this.curves.covers(from, to))
			return curve.change;
		return s.n && s.at(0, T) <= from ? s.value(BYTES, to) - s.value(BYTES, from) : NaN;
	}

	// /history/locations.json, as an object; null: nothing is known
	takeCurves(json) {
		if (json)
			this.curves.load(json);
		else
			this.curves.clear();
		this.rankAll();
	}

	rankAll() {
		for (let slot = 0; slot < this.slots; slot++)
			this.rank[slot] = this.rankOf(slot);
	}

	// Above 0: it grows, as the sentence's answer has it, by so much in the time of the curves, or since it has grown.
	// Below: it shrank by so much.
	rankOf(slot) {
		const grows = this.growing?.get(this.location[slot]), { from, to } = this.curves;
		if (!grows)
			return Math.min(this.curve(slot)?.rank ?? NaN, 0);
		return Math.max(1, to > from ? Math.min(grows.change, grows.rate / 60 * (to - from)) : grows.change);
	}

	kindKey(slot) {
		return this.kinds.key(this.id[slot]);
	}

	kindSamples(slot) {
		return this.kinds.samples(this.id[slot]);
	}

	// /verdict.json, as an object, or null: the sentence and the table say the same of what grows.
	learn(verdict) {
		this.mentioned = verdict?.at ?? null;
		this.growing = verdict?.growers ? new Map(verdict.growers.map((g) => [g.location, { since: g.since, rate: g.rate_bytes_per_minute, change: g.change }])) : null;
		this.rankAll();
	}

	// What grows comes first, and the one in the sentence before all.
	order(slot, descending) {
		if (descending && this.rank[slot] > 0 && this.location[slot] === this.mentioned)
			return Infinity;
		return slopeKey(this.rank[slot], this.liveBytes[slot], descending);
	}

	// Live bytes at n evenly spaced times from t0 to t1; NaN: not known then
	sample(slot, t0, t1, n, out = new Float64Array(n)) {
		return this.curves.sample(this.curve(slot), this.series[slot], t0, t1, out);
	}

	// A row's file, folder or gem
	name(slot, group) {
		const list = this.names[group];
		if (list[slot] === undefined) {
			const row = { location: this.location[slot], fileLength: this.fileLength[slot], kind: this.kind[slot] };
			list[slot] = group === "gem" ? this.gem(row) : group === "dir" ? dirOf(row) : fileOf(row);
		}
		return list[slot];
	}

	// A file's lines have the same gem: it is found once for each file.
	gem(row) {
		const file = row.kind + fileOf(row);
		let gem = row.kind === "special" ? row.location : this.gems.get(file);
		if (gem === undefined)
			this.gems.set(file, gem = gemOf(row));
		return gem;
	}

	gemLower(slot) {
		const gem = this.name(slot, "gem");
		let lower = this.lowers.get(gem);
		if (lower === undefined)
			this.lowers.set(gem, lower = gem.toLowerCase());
		return lower;
	}

	find(location) {
		for (let i = 0; i < this.slots; i++)
			if (this.used[i] && this.location[i] === location)
				return i;
		return -1;
	}
}
