// SPDX-License-Identifier: GPL-2.0-or-later
// replay_chart.js - curves over the seconds of a recording, each with a label at its end: its name with its peak
// and mean, or its value where the pointer is. A narrow chart has the labels below it.

import { el, setText } from "./dom.js";
import { bytes } from "./format.js";
import { plot, tone, valueAxis } from "./chart.js";
import { align, endOf, nearest, secondsLabel, secondsLabels, spread, STEPS } from "./replay_curves.js";

const HEIGHT = 360, LABEL = 18, REACH = 24, EDGE = 6, MOST = 0.42; // pixels; of the width for labels

export class ReplayChart {
	// curves: [{of: its key, name, curve: [[s, bytes]], peak, mean, tone: the name of its colour, number: of the
	// setting, dash, strong}]; on: {over(key|null), pick(key)}
	constructor(root, curves, { seconds, caption }, on) {
		this.root = root;
		this.curves = curves;
		this.on = on;
		this.near = this.shown = null; // keys
		this.seconds = seconds;
		this.data = align(curves.map((c) => c.curve));
		this.box = el("div", { class: "plot", tabindex: "0", role: "img", "aria-label": `${caption}. The arrow keys move along it.` });
		this.labels = curves.map((c) => el("span", { "data-of": c.of, "data-curve": c.number === undefined ? null : c.number % 10,
			onpointerenter: () => on.over(c.of), onpointerleave: () => on.over(null), onclick: () => on.pick(c.of) }));
		this.ends = el("div", { class: "ends", "aria-hidden": "true" }, this.labels);
		this.caption = el("figcaption", { role: "status" });
		this.about = caption;
		root.replaceChildren(el("div", { class: "chart" }, this.box, this.ends), this.caption);
		this.say(null);
		this.fit();
		this.plot = plot(this.box, () => this.spec(), Math.max(HEIGHT, curves.length * LABEL + 60));
		this.plot.set(this.data, 0, seconds);
		this.box.addEventListener("keydown", (e) => this.key(e));
		this.box.addEventListener("blur", () => this.plot.cursor(null));
		new ResizeObserver(() => this.fit()).observe(root);
	}

	spec() {
		return {
			series: [{}, ...this.curves.map((c) => ({ stroke: tone(c.tone), width: c.strong ? 2.5 : 1.5, dash: c.dash, points: { show: false }, spanGaps: false }))],
			axes: [{ stroke: tone("--dim"), font: "11px system-ui, sans-serif", size: 26, gap: 4, incrs: STEPS, space: 70, grid: { show: false }, ticks: { stroke: tone("--line"), size: 4 },
				values: (u, splits, _axis, _space, step) => secondsLabels(splits, step, this.seconds, u.bbox.width / devicePixelRatio, EDGE) }, valueAxis("bytes", "y", 3)],
			scales: { x: { time: false, range: () => [0, this.seconds] }, y: { range: (_u, _min, max) => [0, (max || 1) * 1.06] } },
			padding: [12, EDGE, 0, 0],
			focus: { alpha: 0.25 },
			hover: (i) => this.say(i),
			plugins: [{ hooks: { ready: (u) => this.ready(u), draw: (u) => this.place(u), setCursor: (u) => this.look(u) } }],
		};
	}

	ready(u) {
		this.u = u;
		u.over.addEventListener("click", () => this.near && this.on.pick(this.near));
		this.show(this.shown);
	}

	// Labels go below if they would take too much of the width.
	fit() {
		this.root.classList.remove("below");
		const width = Math.ceil(Math.max(...this.labels.map((n) => n.offsetWidth))) + 12;
		this.ends.style.width = `${width}px`;
		this.root.classList.toggle("below", width > this.root.clientWidth * MOST);
	}

	place(u) {
		const last = this.curves.map(({ curve }) => u.valToPos(endOf(curve), "y"));
		const top = u.bbox.top / devicePixelRatio;
		spread(last.map((y) => y + top - LABEL / 2), LABEL, 0, u.height).forEach((y, i) => { this.labels[i].style.top = `${y}px`; });
	}

	// The pointer moved, or left.
	look(u) {
		const { left, top, idx } = u.cursor;
		const there = left >= 0 && idx !== null ? nearest(this.data.slice(1).map((v) => (v[idx] === null ? null : u.valToPos(v[idx], "y"))), top, REACH) : -1;
		const near = there < 0 ? null : this.curves[there].of;
		if (near !== this.near) {
			this.near = near;
			this.on.over(near);
		}
	}

	// i: of a time; null: peaks and means
	say(i) {
		this.at = i;
		this.curves.forEach((c, k) => {
			const now = i === null ? null : this.data[k + 1][i];
			setText(this.labels[k], i === null ? `${c.name}: peak ${bytes(c.peak)}, mean ${bytes(c.mean)}` : `${c.name}: ${bytes(now)}`);
		});
		setText(this.caption, i === null ? this.about : `At ${secondsLabel(this.data[0][i], this.seconds < 30 ? 0.01 : 1)} of ${secondsLabel(this.seconds, this.seconds < 30 ? 0.01 : 1)}`);
	}

	key(e) {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], times = this.data[0];
		if (!step || !times.length)
			return;
		e.preventDefault();
		const from = this.at ?? (step > 0 ? -1 : times.length), far = Math.max(1, Math.round(times.length / 100));
		this.plot.cursor(times[Math.min(Math.max(from + step * far, 0), times.length - 1)]);
	}

	// One curve, or all: null
	show(of) {
		const i = this.curves.findIndex((c) => c.of === of);
		this.shown = i < 0 ? null : of;
		this.labels.forEach((n, k) => n.classList.toggle("shown", k === i));
		this.u?.setSeries(i < 0 ? null : i + 1, { focus: true });
	}
}
