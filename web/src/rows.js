// SPDX-License-Identifier: GPL-2.0-or-later
// rows.js - all locations, as the stream tells them. Numbers are in typed
// arrays by slot, so that 50,000 rows are filtered, summed and sorted without
// making objects. Slots of rows that are gone are used again.

import { fileLength, gemOf, fileOf, dirOf } from "./place.js";
import { Series, T, BYTES, ALLOCATIONS } from "./series.js";

// The values of a row of an event, in the order of the contract.
export const NUMBERS = ["total", "allocations", "frees", "growth", "liveBytes", "live", "lifeSum", "lifeMax", "mark"];
const LOOKED = 10; // seconds after which the lowest points of two halves tell what only waits for a collection
const FIRST_NEW = 10; // a known row comes with its id and the nine numbers only

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
		for (const name of [...NUMBERS, "rate"])
			this[name] = new Float64Array(0);
		this.names = { file: [], dir: [], gem: [] }; // made when first asked for
		this.gems = new Map();  // kind and file → gem
		this.lowers = new Map(); // gem → lower-cased
		this.kept = new Map();  // id → {location, series} of rows that may come again
		this.hot = new Set();   // slots that changed lately: those with a rate
		this.now = 0;
		this.began = null;      // when the first rows came
		this.full = false;      // the first ones are all here
	}

	// All rows come anew, of the same process: their curves go on.
	again() {
		const { began } = this;
		const kept = new Map();
		for (const [id, slot] of this.bySlot)
			if (this.series[slot].n > 1)
				kept.set(id, { location: this.location[slot], series: this.series[slot] });
		this.clear();
		this.kept = kept;
		this.began = began;
	}

	// One "rows" event. Returns how many rows it had.
	apply(event) {
		if (event.all)
			this.again();
		this.now = Math.max(this.now, event.t);
		if (this.began === null)
			this.began = event.t;
		for (const values of event.rows)
			this.put(event.t, values);
		for (const id of event.gone || [])
			this.remove(id);
		if (!event.more) {
			this.full = true;
			this.kept.clear();
		}
		return event.rows.length;
	}

	put(t, values) {
		let slot = this.bySlot.get(values[0]);
		if (slot === undefined) {
			if (values.length <= FIRST_NEW)
				return; // changes of a row that we were never told: nothing to show
			slot = this.add(t, values);
		} else {
			this.hot.add(slot);
		}
		for (let i = 0; i < NUMBERS.length; i++)
			this[NUMBERS[i]][slot] = values[i + 1];
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
		for (const list of Object.values(this.names))
			list[slot] = undefined;
		if (this.full && !known) { // not there before: it grew from nothing
			this.series[slot].push(Math.max(t - 1, 0), 0, 0, 0, 0);
			this.hot.add(slot);
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
		for (const name of [...NUMBERS, "rate", "used", "filled"]) {
			const more = new this[name].constructor(this.capacity);
			more.set(this[name]);
			this[name] = more;
		}
	}

	// Once a tick: allocations a second over the last ten, of rows that changed lately.
	tick(t) {
		this.now = Math.max(this.now, t);
		for (const slot of this.hot) {
			const s = this.series[slot];
			this.rate[slot] = s.rate(ALLOCATIONS, this.now, Math.min(10, Math.max(this.now - this.began, 1)));
			if (s.last < this.now - 10) {
				this.rate[slot] = 0;
				this.hot.delete(slot);
			}
		}
	}

	// Live bytes a second, since the page looks at it
	slope(slot) {
		const s = this.series[slot];
		const seconds = this.now - s.at(0, T);
		return s.n > 1 && seconds > 0 ? (s.at(s.n - 1, BYTES) - s.at(0, BYTES)) / seconds : 0;
	}

	// The row that has the most of what grows, or -1, and its part of it: of what was seen to rise
	// while the page looks; as long as that isn't enough to tell, of what the column `measure` says.
	top(measure) {
		const from = Math.max(this.began, this.now - 900);
		const most = this.now - from >= LOOKED ? this.most((slot) => this.series[slot].rise(BYTES, from, this.now)) : null;
		return most && most.top >= 0 ? most : this.most((slot) => measure[slot]);
	}

	most(of) {
		let top = -1, best = 0, sum = 0;
		for (let slot = 0; slot < this.slots; slot++) {
			const v = this.used[slot] ? of(slot) : 0;
			if (v > 0)
				sum += v;
			if (v > best) {
				best = v;
				top = slot;
			}
		}
		return { top, share: sum ? best / sum : 0 };
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
