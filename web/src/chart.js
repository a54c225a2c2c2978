// SPDX-License-Identifier: GPL-2.0-or-later
// chart.js - plots over time, by uPlot: the stacked area of the headline and
// the lines of a location's page. Colours come from the style sheet, and again
// when light and dark change.

import uPlot from "uplot";
import { el, setAttr, setText } from "./dom.js";
import { bytes, small, about } from "./format.js";
import { TIME_STEPS, timeLabels, timeSplits, dated } from "./axis.js";

export const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "11px system-ui, sans-serif";
const scheme = matchMedia("(prefers-color-scheme: dark)");

// Steps of the byte axis: powers of two, so that labels are whole
const BYTE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

function timeAxis() {
	return { stroke: tone("--dim"), font: FONT, size: 26, gap: 4, incrs: TIME_STEPS,
		splits: (_u, _axis, min, max, step) => timeSplits(min, max, step),
		space: (u) => (dated(u.scales.x.max - u.scales.x.min) ? 100 : 70),
		grid: { show: false }, ticks: { stroke: tone("--line"), size: 4 },
		values: ({ width, bbox, scales: { x } }, splits, _axis, _space, step) => {
			const [left, long] = [bbox.left, bbox.width].map((n) => n / (devicePixelRatio || 1));
			return timeLabels(splits, x.min, x.max, step, long, width - left - long);
		} };
}

export function valueAxis(unit, scale, side) {
	const of = unit === "bytes" ? (v) => (v ? bytes(v) : "0") : unit === "count" ? about : small;
	return { scale, side, stroke: tone("--dim"), font: FONT, size: 64, gap: 4, space: 34,
		...(unit === "bytes" ? { incrs: BYTE_STEPS } : {}),
		grid: side === 1 ? { show: false } : { stroke: tone("--line"), width: 1 }, ticks: { show: false },
		values: (_u, splits) => splits.map(of) };
}

const BESIDE = 24; // pixels right of a plot: half of its last label, 14:05:10

// A plot in `box`. make() gives {series, axes, scales, lines(), hover(index|null), select(from, to)};
// it is called again when colours change. Returns {set(data, from, to), cursor(t|null), part([t0, t1]|null), remove()}.
export function plot(box, make, height) {
	let u = null, data = null, from = 0, to = 1, spec;

	const build = () => {
		spec = make();
		u?.destroy();
		u = new uPlot({
			width: Math.max(box.clientWidth, 200), height, legend: { show: false }, pxAlign: 1, ms: 1,
			cursor: { y: false, x: true, points: { show: false }, drag: { x: Boolean(spec.select), y: false, setScale: false } },
			padding: [12, spec.axes.length > 2 ? 0 : BESIDE, 0, 0],
			...spec,
			scales: { x: { time: true, range: () => [from, to] }, ...spec.scales },
			hooks: {
				draw: [(p) => spec.lines && placeLines(p, spec.lines())],
				setCursor: [(p) => spec.hover?.(p.cursor.left >= 0 ? p.cursor.idx : null)],
				setSelect: [(p) => {
					const { left, width } = p.select;
					if (width > 5)
						spec.select(p.posToVal(left, "x"), p.posToVal(left + width, "x"));
					if (width)
						p.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				}],
			},
		}, data || [[0], ...spec.series.slice(1).map(() => [null])], box);
	};

	const sizes = new ResizeObserver(() => {
		if (u && box.clientWidth && Math.abs(box.clientWidth - u.width) > 1)
			u.setSize({ width: box.clientWidth, height });
	});
	build();
	sizes.observe(box);
	scheme.addEventListener("change", build);
	return {
		set(newData, newFrom, newTo) {
			data = newData;
			from = newFrom;
			to = newTo;
			u.setData(data); // scales anew: x by range() above
		},
		cursor: (t) => u.setCursor(t === null ? { left: -10, top: -10 } : { left: u.valToPos(t, "x"), top: 1 }),
		part(times) {
			const [left, right] = times ? times.map((t) => u.valToPos(t, "x")) : [0, 0];
			u.setSelect({ left, width: right - left, top: 0, height: times ? u.over.clientHeight : 0 }, false);
		},
		remove() {
			sizes.disconnect();
			scheme.removeEventListener("change", build);
			u.destroy();
		},
	};
}

const LABEL = 60; // pixels that a label needs

// Events, as lines over the plot: {t, kind, label, title}, in order. Elements, so that
// each can say what it is.
function placeLines(u, lines) {
	const box = u.over.querySelector(".events") || u.over.appendChild(el("div", { class: "events" }));
	const shown = lines.filter(({ t }) => t >= u.scales.x.min && t <= u.scales.x.max);
	while (box.children.length > shown.length)
		box.lastChild.remove();
	let free = -Infinity;
	shown.forEach(({ t, kind, label, title }, i) => {
		const node = box.children[i] || box.appendChild(el("span", { class: "event" }, el("span")));
		const left = Math.round(u.valToPos(t, "x"));
		node.style.left = `${left}px`;
		setAttr(node, "data-kind", kind);
		setAttr(node, "title", title);
		setText(node.firstChild, left >= free ? label : "");
		setAttr(node, "data-side", left > u.over.clientWidth - LABEL ? "left" : null);
		if (left >= free)
			free = left + LABEL;
	});
}

const fromZero = { range: (_u, _min, max) => [0, (max || 1) * 1.06] };

// RSS as a line; below it live, Ruby's heap pages, what is free in arenas, and the rest.
// Data: [unix, all four, live + heap + free, live + heap, live, rss, limit].
export function stackedChart(box, on, height = 150) {
	return plot(box, () => ({
		series: [{},
			{ fill: tone("--area-other"), stroke: tone("--area-other"), width: 0 },
			{ fill: tone("--area-free"), stroke: tone("--area-free"), width: 0 },
			{ fill: tone("--area-heap"), stroke: tone("--area-heap"), width: 0 },
			{ fill: tone("--area-live"), stroke: tone("--area-live"), width: 0 },
			{ stroke: tone("--fg"), width: 1.25 },
			{ stroke: tone("--fg"), width: 1, dash: [6, 4] },
		].map((s) => ({ points: { show: false }, ...s })),
		axes: [timeAxis(), valueAxis("bytes", "y", 3)],
		scales: { y: fromZero },
		...on,
	}), height);
}

// Two lines, each with an axis of its own, or one for both. Data: [unix, first, second].
export function pairChart(box, units, steps, height = 130) {
	const second = units[1] === units[0] ? "y" : "z";
	return plot(box, () => ({
		series: [{},
			{ scale: "y", stroke: tone("--line-1"), width: 1.75, fill: units[0] === "bytes" ? tone("--area-1") : undefined },
			{ scale: second, stroke: tone("--line-2"), width: 1.25, dash: [5, 3] },
		].map((s) => ({ points: { show: false }, ...(steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}), ...s })),
		axes: [timeAxis(), valueAxis(units[0], "y", 3), ...(second === "z" ? [valueAxis(units[1], "z", 1)] : [])],
		scales: second === "z" ? { y: fromZero, z: fromZero } : { y: fromZero },
	}), height);
}
