// SPDX-License-Identifier: GPL-2.0-or-later
// flame_sandwich.js - one frame between all that called it and all that it called: two trees, whose
// root it is, made of each place where it is. Frames of one name and file are one, whatever their lines.

import { el, setText } from "./dom.js";
import { count } from "./format.js";
import { Sums, describe, frameHash, sumFrames } from "./flame_tree.js";
import { Graph } from "./flame_graph.js";
import { BY, errorWords, nodeTitle, percent, signed } from "./flame_words.js";

// The frame of that hash, or -1
export function findFrame(tree, hash) {
	return hash ? tree.frames.findIndex((_, f) => frameHash(tree, f) === hash) : -1;
}

// {callers, callees, own}: each stack counts once, at the first such frame from the tree's root on
export function sandwich(tree, f) {
	const [name, file] = tree.frames[f], same = tree.frames.map(([n, at]) => n === name && at === file);
	const below = new Sums(tree, f), above = new Sums(tree, f);
	for (let i = 1; i < tree.n;) {
		if (!same[tree.frame[i]]) {
			i++;
			continue;
		}
		const to = new Map();
		for (let k = i; k < tree.end[i]; k++) {
			const at = k === i ? 0 : below.child(to.get(tree.parent[k]), tree.frame[k]);
			to.set(k, at);
			below.add(at, k);
		}
		above.add(0, i);
		for (let p = tree.parent[i], at = 0; p > 0; p = tree.parent[p]) {
			at = above.child(at, tree.frame[p]);
			above.add(at, i);
		}
		i = tree.end[i];
	}
	const [down, up] = [below.tree({ part: true, inverted: tree.inverted }), above.tree({ part: true, inverted: !tree.inverted })];
	const sums = sumFrames(tree).own, own = same.reduce((n, here, k) => n + (here ? sums[k] : 0), 0);
	return { callers: tree.inverted ? down : up, callees: tree.inverted ? up : down, own };
}

const children = (tree) => {
	let n = 0;
	for (let i = 1; i < tree.n; i = tree.end[i])
		n++;
	return n;
};

export class Sandwich {
	// on: {go(frame), leave(), look(tree, node), say(text)}
	constructor(on) {
		this.frame = -1;
		this.on = on;
		const graph = (flipped) => new Graph({ zoom: (node) => this.go(node), back: () => on.leave(), look: (node) => this.look(node), say: on.say }, { flipped });
		this.above = graph(true);
		this.below = graph(false);
		this.words = el("p", { class: "totals" });
		this.aboveTitle = el("h2");
		this.belowTitle = el("h2");
		this.root = el("div", { class: "sandwich", hidden: true },
			el("p", {}, el("button", { type: "button", title: "The whole graph again (Escape)", onclick: () => on.leave(), "data-action": "leave" }, "\u2190 whole graph")),
			this.words, this.aboveTitle, this.above.root, this.belowTitle, this.below.root);
		for (const [half, g] of [["callers", this.above], ["callees", this.below]])
			g.root.dataset.half = half;
	}

	// f < 0: nothing is shown
	take(tree, f) {
		if (tree === this.of && f === this.frame)
			return;
		Object.assign(this, { of: tree, frame: f });
		this.root.hidden = f < 0;
		if (f < 0)
			return;
		const { callers, callees, own } = sandwich(tree, f), { by } = tree, title = nodeTitle(callers, 0);
		setText(this.words, `${title}: ${signed(by, callees.value[0])} ${BY[by].verb} \u00b7 ${percent(callees.width[0], tree.width[0])} of all \u00b7 own ${signed(by, own)} \u00b7 ${errorWords(callees.samplesOf[0], tree)}`);
		const [up, down] = [children(callers), children(callees)];
		setText(this.aboveTitle, up ? `${count(up)} caller${up > 1 ? "s" : ""}` : "No caller is known");
		setText(this.belowTitle, down ? `${count(down)} callee${down > 1 ? "s" : ""}` : "It calls nothing that asked for memory");
		this.above.take(callers, 0, `Callers of ${title}, which is at the bottom.`);
		this.below.take(callees, 0, `Callees of ${title}, which is at the top.`);
	}

	mark(hits) {
		this.above.mark(hits);
		this.below.mark(hits);
	}

	get active() {
		return document.activeElement === this.above.canvas ? this.above : this.below;
	}

	// The frame that has the focus
	get chosen() {
		return this.active.tree.frame[this.active.focus];
	}

	go(node) {
		const g = [this.above, this.below].find((half) => half.canvas === document.activeElement) ?? this.below;
		const f = g.tree.frame[node];
		if (node && describe(g.tree, f))
			this.on.go(f);
	}

	look(node) {
		const g = this.above.over >= 0 ? this.above : this.below.over >= 0 ? this.below : this.active;
		this.on.look(g.tree, node);
	}
}
