// SPDX-License-Identifier: GPL-2.0-or-later
// flame_search.js - the frames that match a text or a /regular expression/, and how many
// bytes these have. Pure functions.

import { describe, placeOf } from "./flame_tree.js";

// A function of a text, or {error}; null: nothing is looked for
export function compile(q) {
	const words = q.trim();
	if (!words)
		return null;
	if (words.length > 2 && words.startsWith("/") && words.endsWith("/")) {
		try {
			const regex = new RegExp(words.slice(1, -1), "i");
			return (text) => regex.test(text);
		} catch (e) {
			return { error: e.message };
		}
	}
	const lower = words.toLowerCase();
	return (text) => text.toLowerCase().includes(lower);
}

// {hit: 1 by frame, bytes of the stacks with such a frame, weight (the same as widths), frames: how many,
// of: how many there are} or {error} or null
export function search(tree, q) {
	const test = compile(q);
	if (!test || test.error)
		return test;
	const hit = new Uint8Array(tree.frames.length), used = new Uint8Array(tree.frames.length);
	tree.frames.forEach((_, f) => {
		const at = describe(tree, f);
		hit[f] = [at.name, placeOf(at), at.group].some(test) ? 1 : 0;
	});
	for (let i = 1; i < tree.n; i++)
		used[tree.frame[i]] = 1;
	let frames = 0, of = 0;
	for (let f = 0; f < hit.length; f++) {
		of += used[f];
		frames += used[f] & hit[f];
	}
	return { hit, frames, of, ...covered(tree, hit, 0) };
}

// Each stack counts once, however many of its frames match: what is below a match is passed over.
export function covered(tree, hit, root) {
	let bytes = 0, weight = 0;
	// frames above the root are in all of its stacks
	for (let p = tree.parent[root]; p > 0; p = tree.parent[p])
		if (hit[tree.frame[p]])
			return { bytes: tree.value[root], weight: tree.width[root] };
	for (let i = root; i < tree.end[root];) {
		if (tree.frame[i] >= 0 && hit[tree.frame[i]]) {
			bytes += tree.value[i];
			weight += tree.width[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return { bytes, weight };
}
