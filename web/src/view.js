// SPDX-License-Identifier: GPL-2.0-or-later
// view.js - the table's view: rows, filtered, grouped, sorted. It keeps its
// order: a keystroke in the filter walks the order that is there already
// (matches.js), and a tick moves the rows only whose numbers changed (sort.js).

import { Matches } from "./matches.js";
import { sums } from "./group.js";
import { isGrower, sortSlots, sortAgain } from "./sort.js";
import { column } from "./columns.js";

export class View {
	constructor(rows) {
		this.rows = rows;
		this.matches = new Matches(rows);
		this.all = [];         // slots of all rows, in order, when not grouped
		this.order = [];       // slots of `source` that are shown, in order
		this.source = rows;    // Rows, or the sums of a group
		this.version = -1;
		this.sorted = null;    // {by, keys}: what `all` is sorted by, and the values that it was sorted with
		this.sums = { growth: 0, liveBytes: 0, live: 0 };
		this.max = {};
		this.growers = null;   // how many rows, the first ones, grow steadily; null: the order is another one
	}

	// state: see state.js; since: see Rows.measure(), and {same: true} if nothing grew meanwhile; hold: keep
	// the order as it is
	update(state, since, hold) {
		if (!since.same)
			this.rows.measure(since);
		const sort = effectiveSort(state, since);
		if (state.group === "line")
			this.lines(state, sort, hold);
		else
			this.groups(state, sort);
		this.measure();
		this.growers = sort.id === "trend" && sort.descending ? this.countGrowers() : null;
		return sort;
	}

	lines(state, sort, hold) {
		const { rows } = this;
		this.source = rows;
		if (this.version !== rows.version) {
			this.refresh();
			hold = false;
		}
		const by = `${sort.id} ${sort.descending}`;
		if (!hold || by !== this.sorted?.by) {
			const keys = sortAgain(this.all, rows, column(sort.id), sort.descending, by === this.sorted?.by ? this.sorted.keys : null);
			this.sorted = { by, keys };
		}
		this.order = this.matching(state, this.all);
	}

	// Rows came or went: the others keep their order.
	refresh() {
		const { rows } = this;
		const there = new Uint8Array(rows.slots);
		const all = [];
		for (const slot of this.all)
			if (slot < rows.slots && rows.used[slot]) {
				there[slot] = 1;
				all.push(slot);
			}
		for (let slot = 0; slot < rows.slots; slot++)
			if (rows.used[slot] && !there[slot]) {
				all.push(slot);
				if (this.sorted && slot < this.sorted.keys.length)
					this.sorted.keys[slot] = NaN; // it has no place yet
			}
		this.all = all;
		this.version = rows.version;
	}

	matching(state, slots) {
		const hit = this.matches.of(state.q);
		return hit ? slots.filter((slot) => hit[slot]) : slots;
	}

	groups(state, sort) {
		if (this.version !== this.rows.version)
			this.refresh();
		this.source = sums(this.rows, this.matching(state, this.all), state.group);
		this.order = sortSlots(Array.from({ length: this.source.slots }, (_, i) => i), this.source,
			column(sort.id), sort.descending);
	}

	// Sums of what is shown, and the largest values, which the bars are measured by
	measure() {
		const { grown, liveBytes, live } = this.source;
		const sum = { growth: 0, liveBytes: 0, live: 0 };
		const max = { growth: 0, live_bytes: 0 };
		for (const slot of this.order) {
			sum.growth += grown[slot] || 0;
			sum.liveBytes += liveBytes[slot];
			sum.live += live[slot];
			max.growth = Math.max(max.growth, Math.abs(grown[slot]) || 0);
			max.live_bytes = Math.max(max.live_bytes, liveBytes[slot]);
		}
		this.sums = sum;
		this.max = max;
	}

	countGrowers() {
		const { order, source } = this, { get } = column("trend");
		let n = 0;
		while (n < order.length && isGrower(get(source, order[n], true)))
			n++;
		return n;
	}

	// Rows of events, whether they are shown or not
	get matched() {
		return this.order.length;
	}
}

// The user's choice; or what grew most since the mark or over the part of the time that was
// selected; or what grows fastest
export function effectiveSort(state, since) {
	const id = state.sort || (since.kind === "mark" || since.kind === "range" ? "growth" : "trend");
	const text = Boolean(column(id).text);
	return { id, descending: state.sort ? (state.desc ?? !text) : true };
}
