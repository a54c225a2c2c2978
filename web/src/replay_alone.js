// SPDX-License-Identifier: GPL-2.0-or-later
// replay_alone.js - the page of a replay, one file that asks for nothing: the server's sentences and tables are there; this
// draws the curves of what is in #replay as JSON. build.mjs makes dist/replay_alone.html of it.

import { ReplayChart } from "./replay_chart.js";

const { seconds, settings, recorded } = JSON.parse(document.getElementById("replay").textContent);
const charts = [], rows = [...document.querySelectorAll("[data-setting]")];
let over = null, picked = null;

function show() {
	const of = over ?? picked;
	charts[0]?.show(of);
	for (const row of rows)
		row.classList.toggle("shown", `setting-${row.dataset.setting}` === of);
}

const on = {
	over(of) {
		over = of;
		show();
	},
	pick(of) {
		picked = picked === of ? null : of;
		show();
	},
};

const mean = (curve) => {
	let sum = 0;
	for (let i = 1; i < curve.length; i++)
		sum += (curve[i][0] - curve[i - 1][0]) * (curve[i][1] + curve[i - 1][1]) / 2;
	const long = curve.length ? curve[curve.length - 1][0] - curve[0][0] : 0;
	return long > 0 ? sum / long : curve[0]?.[1] ?? 0;
};
const most = (curve) => curve.reduce((max, [, v]) => Math.max(max, v), 0);
const column = (k) => recorded.curve.map((p) => [p[0], p[k]]);
const live = column(2), floor = { of: "live", name: "live bytes, the floor", curve: live, peak: most(live), mean: mean(live), tone: "--dim", dash: [4, 3] };
const long = Math.max(seconds, ...[...settings.map((s) => s.curve), live].map((c) => (c.length ? c[c.length - 1][0] : 0))) || 1;

const curves = settings.filter((s) => s.drawn && s.curve.length)
	.map((s) => ({ ...s, of: `setting-${s.number}`, tone: `--curve-${s.number % 10}`, strong: s.base, dash: s.number >= 10 ? [8, 3] : undefined }));
if (curves.length)
	charts.push(new ReplayChart(document.getElementById("curves"), live.length ? [...curves, floor] : curves,
		{ seconds: long, caption: "Memory of malloc over the seconds of the recording, under each setting" }, on));

const again = settings.find((s) => s.number === 0 && s.curve.length), heap = column(1);
if (heap.length) {
	const was = { of: "recorded", name: "recorded in the process", curve: heap, peak: recorded.peak ?? most(heap), mean: recorded.mean ?? mean(heap), tone: "--fg", strong: true };
	const replayed = again && { ...again, of: "replayed", name: "replayed as recorded", tone: "--curve-0" };
	const trust = new ReplayChart(document.getElementById("trust"), [was, ...(replayed ? [replayed] : []), { ...floor, name: "live bytes" }],
		{ seconds: long, caption: "Memory of malloc as it was recorded, and as it was replayed" },
		{ over: (of) => trust?.show(of), pick: () => {} });
}

for (const row of rows) {
	const of = `setting-${row.dataset.setting}`;
	row.addEventListener("pointerenter", () => on.over(of));
	row.addEventListener("pointerleave", () => on.over(null));
	row.addEventListener("click", () => on.pick(of));
}
