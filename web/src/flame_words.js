// SPDX-License-Identifier: GPL-2.0-or-later
// flame_words.js - the flame graph in words. Pure functions.

import { bytes, count, moment, ends, span, visible } from "./format.js";
import { NATIVE, SPECIAL, frameOf, placeOf } from "./flame_tree.js";

export const BY = {
	live: { choice: "live", noun: "live bytes", verb: "live now", about: "Bytes that are allocated now and not freed" },
	total: { choice: "allocated", noun: "allocated bytes", verb: "allocated", about: "All bytes allocated since the start or the last reset, also those freed since" },
	growth: { choice: "growth", noun: "growth", verb: "growth", about: "Live bytes now less those at the mark, or at the start or the last reset. Red grew, blue shrank" },
	objects: { choice: "Ruby\u2019s objects", noun: "objects\u2019 bytes", verb: "in Ruby\u2019s heap", about: "The slots of Ruby\u2019s objects that stay, by the lines that made them; estimated from samples" },
};

// 43 %, 4.3 %, 0.04 %
export function percent(part, all) {
	if (!all)
		return "0\u00a0%";
	const v = Math.abs(part / all) * 100;
	const s = v >= 99.95 || v === 0 ? String(Math.round(v)) : v >= 9.95 ? v.toFixed(v >= 20 ? 0 : 1) : v >= 0.095 ? v.toFixed(1) : v >= 0.005 ? v.toFixed(2) : "<0.01";
	return `${s}\u00a0%`;
}

export const signed = (by, n) => (by === "growth" && n > 0 ? `+${bytes(n)}` : bytes(n));

const samples = (n) => `${count(n)} sample${n === 1 ? "" : "s"}`;

// How far a number may be off that rests on n samples
export function errorWords(n, tree) {
	if (!n)
		return tree?.by === "objects" ? "no sample" : tree?.range ? "no sample of that time lives: divided as all that lives" : "no sample: not known from where";
	if (n === 1)
		return "estimated from 1 sample: the size may be quite another";
	const off = 100 / Math.sqrt(n);
	return `estimated from ${samples(n)}${n < 10 ? " only" : ""}, about \u00b1${off < 1 ? off.toFixed(1) : Math.round(off)}\u00a0%`;
}

export const rootName = (tree) => (tree.location ? `all at ${visible(tree.location)}` : "all");

export function nodeTitle(tree, node) {
	const at = frameOf(tree, node);
	return at ? visible(at.name) || "(no name)" : rootName(tree);
}

// Beside the name, what it is: "json-2.9.1", "json-2.9.1, native"
export function kindWords(tree, node) {
	const at = frameOf(tree, node);
	if (!at)
		return "";
	const kind = at.kind === NATIVE ? "native" : at.kind === SPECIAL ? "no single line" : "";
	return [tree.merged ? "" : visible(at.group), kind].filter(Boolean).join(", ");
}

// Bytes, shares, own bytes, samples
export function amountWords(tree, node, zoom) {
	const { by, value, width } = tree;
	const words = [`${signed(by, value[node])} ${BY[by].verb}`];
	if (node)
		words.push(`${percent(width[node], width[0])} of ${tree.part ? nodeTitle(tree, 0) : "all"}`);
	if (zoom && node > zoom && node < tree.end[zoom])
		words.push(`${percent(width[node], width[zoom])} of the zoomed frame`);
	if (node && !tree.inverted)
		words.push(`own ${signed(by, tree.own[node])}`);
	words.push(node || tree.part || by === "objects" ? errorWords(tree.samplesOf[node], tree) : `${tree.range ? "as the history has it" : "exact"}; callers estimated from ${samples(tree.samples)}`);
	return words;
}

// One frame for those who listen
export function spoken(tree, node, zoom) {
	const at = frameOf(tree, node);
	const place = at && !tree.merged ? visible(placeOf(at)) : "";
	const below = tree.end[node] > node + 1 ? "" : "nothing below";
	return [nodeTitle(tree, node), ...amountWords(tree, node, zoom), place, kindWords(tree, node), `row ${tree.depth[node] + 1}`, below].filter(Boolean).join(", ");
}

export function searchWords(tree, found, zoom, inZoom) {
	if (!found)
		return "";
	if (found.error)
		return "not a regular expression";
	if (!found.frames)
		return `matches none of ${count(found.of)} ${tree.merged ? "groups" : "frames"}`;
	const part = (weight, root) => percent(weight, tree.width[root]);
	return `matches ${part(found.weight, 0)} of ${BY[tree.by].noun}, ` +
		(zoom ? `${part(inZoom.weight, zoom)} of the zoomed frame, ` : "") +
		`${count(found.frames)} of ${count(found.of)} ${tree.merged ? "groups" : "frames"}`;
}

// The times of a range: "from 12:01:10 to 12:05:00"; now: Unix time
export function rangeWords({ since, unix_from: from, unix_to: to }, now) {
	return since === "mark" ? `since the mark at ${moment(from, now, true)}` : `from ${ends(from, to, now, true).join(" to ")}`;
}

// The basis of a range's growth, in sentences
function ranged({ range, samples, rate, pruned }) {
	const words = [];
	if (range.elsewhere)
		words.push(`Lines that the history doesn\u2019t keep ${range.elsewhere < 0 ? "shrank" : "grew"} by ${bytes(Math.abs(range.elsewhere))} together.`);
	if (samples)
		words.push(`Callers are estimated from ${count(samples)} sample${samples === 1 ? " that was" : "s that were"} taken in that time and still live${samples === 1 ? "s" : ""}.`);
	else if (rate)
		words.push("No sample of that time still lives: each line is divided among its callers as all that lives.");
	else
		words.push(OFF);
	return [...words, ...leftOut(pruned)].join(" ");
}

const OFF = "No stacks are kept: the option stacks is off. Each location stands for itself.";
const leftOut = (n) => (n ? [`${count(n)} frames too small to be seen are left out; their bytes are in the frames above them.`] : []);

const SINCE = { mark: "since the mark", start: "since the start", reset: "since the last reset" };

// What startup=hide left out, as a sentence
const hidden = ({ by, startup }) => (startup === null ? "" : startup ? ` Start-up isn\u2019t shown: ${signed(by, startup)}.` : " Start-up isn\u2019t shown.");

// The sentences above the graph. since: of the query, as it was asked; now: Unix time
export const summaryWords = (tree, how) => sums(tree, how) + hidden(tree);

function sums(tree, { since, now }) {
	const { by, total } = tree;
	const at = tree.unix ? moment(tree.unix, now, true) : "";
	const where = tree.location ? ` by ${visible(tree.location)}` : "";
	const from = since ? ` ${SINCE[since] ?? `since ${/^\d+$/.test(since) ? `${span(since)} after the start` : visible(since)}`}` : "";
	const what = {
		live: `${bytes(total)}${where} are live${at && `, as of ${at}`}.`,
		total: `${bytes(total)} were allocated${where}${at && ` until ${at}`}.`,
		growth: `Live bytes${where} ${total < 0 ? `shrank by ${bytes(-total)}` : `grew by ${bytes(total)}`}${from}${at && ` until ${at}`}.`,
		objects: `Of Ruby\u2019s objects made${where}, about ${bytes(total)} stay${at && `, as of ${at}`}.`,
	}[by];
	if (by === "objects")
		return [what, tree.samples ? `Each line is estimated from samples, ${count(tree.samples)} in all. Their callers aren\u2019t known.` : "No object was sampled, or the option objects is off.", ...leftOut(tree.pruned)].join(" ");
	if (tree.range)
		return `Live bytes${where} ${total < 0 ? `shrank by ${bytes(-total)}` : `grew by ${bytes(total)}`} ${rangeWords(tree.range, now)}. ${ranged(tree)}`;
	if (!tree.samples && !tree.rate)
		return `${what} ${OFF}`;
	if (!tree.samples)
		return `${what} No stack was sampled yet, so no caller is known.`;
	return `${what} The sum of each line is exact. Callers are estimated from ${samples(tree.samples)}${tree.rate ? `, one for about ${bytes(tree.rate)} allocated` : ""}.${["", ...leftOut(tree.pruned)].join(" ")}`;
}
