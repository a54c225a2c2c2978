// SPDX-License-Identifier: GPL-2.0-or-later
// series.js - one row over time: [t, live bytes, live blocks,
// allocations, frees], one point a change. Between two points the first one's
// values hold. Bounded: when it is full, the buckets that its points are in
// double their width, so that it always reaches back to the start, on an even grid.

export const STRIDE = 5;
export const T = 0, BYTES = 1, LIVE = 2, ALLOCATIONS = 3, FREES = 4;

export class Series {
	// max: points kept at most, even, and at least 8
	constructor(max = 48) {
		this.max = max;
		this.n = 0;
		this.step = 0; // width of a bucket in seconds; each has one point at most, its last. 0: every change
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
		if (this.n && (t <= this.last || (this.n > 1 && this.bucket(t) === this.bucket(this.last))))
			this.n--;
		while (this.n >= this.max)
			this.widen();
		if ((this.n + 1) * STRIDE > this.data.length)
			this.grow();
		this.data.set([t, bytes, live, allocations, frees], this.n++ * STRIDE);
	}

	grow() {
		const more = new Float64Array(Math.min(this.data.length * 2, Math.max(this.max, 4) * STRIDE));
		more.set(this.data);
		this.data = more;
	}

	bucket(t) {
		return this.step ? Math.floor(t / this.step) : t;
	}

	// The first point stays, and the last one of each bucket.
	widen() {
		this.step = this.step ? this.step * 2 : 1;
		let to = 1;
		for (let i = 1; i < this.n; i++)
			if (i === this.n - 1 || this.bucket(this.at(i, T)) !== this.bucket(this.at(i + 1, T)))
				this.data.copyWithin(to++ * STRIDE, i * STRIDE, (i + 1) * STRIDE);
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

	// The value that held at t, or NaN before the first point
	value(what, t) {
		const i = this.find(t);
		return i < 0 ? NaN : this.at(i, what);
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
