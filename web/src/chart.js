// SPDX-License-Identifier: GPL-2.0-or-later
// chart.js - plots over time, by uPlot: the stacked area of the headline and
// the lines of a location's page. Colours come from the style sheet, and again
// when light and dark change.

import uPlot from "uplot";
import { bytes, small, about, clock } from "./format.js";

const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "11px system-ui, sans-serif";
const scheme = matchMedia("(prefers-color-scheme: dark)");

// Steps of the byte axis: powers of two, so that labels are whole
const BYTE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600];

function timeAxis() {
	return { stroke: tone("--dim"), font: FONT, size: 26, gap: 4, space: 70, incrs: TIME_STEPS,
		grid: { show: false }, ticks: { stroke: tone("--line"), size: 4 },
		// none where it would be cut off at the right
		values: ({ width, scales: { x } }, splits, _axis, _space, step) =>
			splits.map((v) => ((x.max - v) / (x.max - x.min) * width < 20 ? "" : clock(v, step < 60))) };
}

function valueAxis(unit, scale, side) {
	const of = unit === "bytes" ? (v) => (v ? bytes(v) : "0") : unit === "count" ? about : small;
	return { scale, side, stroke: tone("--dim"), font: FONT, size: 64, gap: 4, space: 34,
		...(unit === "bytes" ? { incrs: BYTE_STEPS } : {}),
		grid: side === 1 ? { show: false } : { stroke: tone("--line"), width: 1 }, ticks: { show: false },
		values: (_u, splits) => splits.map(of) };
}

// A plot in `box`. make() gives {series, axes, scales, marks(), hover(index|null), select(from, to)};
// it is called again when colours change. Returns {set(data, from, to), remove()}.
function plot(box, make, height) {
	let u = null, data = null, from = 0, to = 1, spec;

	const build = () => {
		spec = make();
		u?.destroy();
		u = new uPlot({
			width: Math.max(box.clientWidth, 200), height, legend: { show: false }, pxAlign: 1, ms: 1,
			cursor: { y: false, x: true, points: { show: false }, drag: { x: Boolean(spec.select), y: false, setScale: false } },
			padding: [12, spec.axes.length > 2 ? 0 : 8, 0, 0],
			...spec,
			scales: { x: { time: true, range: () => [from, to] }, ...spec.scales },
			hooks: {
				draw: [(p) => drawMarks(p, spec.marks ? spec.marks() : [])],
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
		remove() {
			sizes.disconnect();
			scheme.removeEventListener("change", build);
			u.destroy();
		},
	};
}

function drawMarks(u, marks) {
	const { ctx, bbox } = u;
	const px = devicePixelRatio || 1;
	ctx.save();
	ctx.strokeStyle = ctx.fillStyle = tone("--mark");
	ctx.lineWidth = px;
	ctx.font = `${10 * px}px system-ui, sans-serif`;
	for (const mark of marks) {
		const x = Math.round(u.valToPos(mark, "x", true));
		if (x < bbox.left || x > bbox.left + bbox.width)
			continue;
		ctx.setLineDash([4 * px, 3 * px]);
		ctx.beginPath();
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
		ctx.stroke();
		ctx.fillText("mark", Math.min(x + 4 * px, bbox.left + bbox.width - 28 * px), bbox.top - 2 * px);
	}
	ctx.restore();
}

const fromZero = { range: (_u, _min, max) => [0, (max || 1) * 1.06] };

// RSS as a line; below it live, Ruby's heap pages and the rest. Data: [unix, all three, live + heap, live, rss].
export function stackedChart(box, on, height = 150) {
	return plot(box, () => ({
		series: [{},
			{ fill: tone("--area-other"), stroke: tone("--area-other"), width: 0 },
			{ fill: tone("--area-heap"), stroke: tone("--area-heap"), width: 0 },
			{ fill: tone("--area-live"), stroke: tone("--area-live"), width: 0 },
			{ stroke: tone("--fg"), width: 1.25 },
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
