// SPDX-License-Identifier: GPL-2.0-or-later
// series.js - what one row was, over time: [t, live bytes, live blocks,
// allocations, frees], one point a change. Between two points the first one's
// values hold. Bounded: when it is full every second point goes, so that it
// always reaches back to the start, coarser the longer it gets.

export const STRIDE = 5;
export const T = 0, BYTES = 1, LIVE = 2, ALLOCATIONS = 3, FREES = 4;

export class Series {
	// max: points kept at most, even, and at least 8
	constructor(max = 48) {
		this.max = max;
		this.n = 0;
		this.data = new Float64Array(4 * STRIDE); // most rows never change: small at first
	}

	at(i, what) {
		return this.data[i * STRIDE + what];
	}

	get last() {
		return this.n ? this.at(this.n - 1, T) : -Infinity;
	}

	// t may equal the last one's, which is then replaced, but never be less.
	push(t, bytes, live, allocations, frees) {
		if (this.n && t <= this.last)
			this.n--;
		if (this.n >= this.max)
			this.thin();
		if ((this.n + 1) * STRIDE > this.data.length)
			this.grow();
		this.data.set([t, bytes, live, allocations, frees], this.n++ * STRIDE);
	}

	grow() {
		const more = new Float64Array(Math.min(this.data.length * 2, Math.max(this.max, 4) * STRIDE));
		more.set(this.data);
		this.data = more;
	}

	// The first and the last point stay.
	thin() {
		let to = 1;
		for (let i = 2; i < this.n - 1; i += 2)
			this.data.copyWithin(to++ * STRIDE, i * STRIDE, (i + 1) * STRIDE);
		this.data.copyWithin(to++ * STRIDE, (this.n - 1) * STRIDE, this.n * STRIDE);
		this.n = to;
	}

	// Index of the point that holds at t, or -1 before the first
	find(t) {
		let low = 0, high = this.n;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.at(middle, T) <= t)
				low = middle + 1;
			else
				high = middle;
		}
		return low - 1;
	}

	// How much `what` grew each second over the `seconds` before now; 0 if nothing is known.
	rate(what, now, seconds) {
		if (this.n < 2)
			return 0;
		const i = Math.max(this.find(now - seconds), 0);
		const from = Math.max(this.at(i, T), now - seconds);
		return now > from ? (this.at(this.n - 1, what) - this.at(i, what)) / (now - from) : 0;
	}

	// By how much the least of `what` in the later half of the time from t0 to now is above
	// the least in the earlier one: what collections don't take away again
	rise(what, t0, now) {
		if (this.n < 2)
			return 0;
		const middle = (t0 + now) / 2;
		let early = Infinity, late = Infinity;
		for (let i = Math.max(this.find(t0), 0); i < this.n; i++) {
			const v = this.at(i, what);
			if (this.at(i, T) < middle)
				early = Math.min(early, v);
			if (i === this.n - 1 || this.at(i + 1, T) > middle)
				late = Math.min(late, v);
		}
		return early === Infinity ? 0 : late - early;
	}

	// Columns for a plot from t0 on, ending at now: {t, values}
	column(what, t0, now) {
		const t = [], values = [];
		const first = this.find(t0);
		for (let i = Math.max(first, 0); i < this.n; i++) {
			t.push(Math.max(this.at(i, T), t0));
			values.push(this.at(i, what));
		}
		if (t.length && now > t[t.length - 1]) {
			t.push(now);
			values.push(values[values.length - 1]);
		}
		return { t, values };
	}
}
