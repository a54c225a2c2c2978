// SPDX-License-Identifier: GPL-2.0-or-later
// memory_whatif.js - how much would be empty without the selected lines, as a bar beside what is empty now; and
// line by line, for those that hold most.

import { el, setText } from "./dom.js";
import { bytes, count } from "./format.js";
import { whatIfWords, shortLocation } from "./memory_words.js";

const TOP = 8;    // lines of the chart
const SOON = 300; // ms after the last change of the selection

export class WhatIf {
	// ask(locations): a promise of what /map/whatif says
	constructor(ask) {
		this.ask = ask;
		this.turn = 0;
		this.said = el("p", { role: "status" });
		this.bars = el("div", { class: "gone" });
		this.steps = el("div", { class: "gone" });
		this.begin = el("button", { type: "button", "data-action": "steps", onclick: () => this.chart() });
		this.progress = el("span", { class: "note", role: "status" });
		this.root = el("section", { class: "what-if", "aria-label": "What if these lines were gone" }, el("h2", {}, "What if lines were gone?"),
			el("p", { class: "note" }, "Empty pages are what a trim can give back. Select lines in the table above for an answer about them."),
			this.said, this.bars, el("p", {}, this.begin, this.progress), this.steps);
	}

	take(json) {
		this.json = json;
		this.turn++;
		this.top = json.lines.slice(0, TOP);
		this.begin.hidden = !this.top.length;
		setText(this.begin, `Line by line: without the ${count(this.top.length)} that hold most`);
		this.steps.replaceChildren();
		setText(this.progress, "");
	}

	// The selection changed.
	choose(locations) {
		clearTimeout(this.later);
		const turn = this.chosen = {};
		if (!locations.length) {
			setText(this.said, "");
			return this.bars.replaceChildren();
		}
		this.later = setTimeout(async () => {
			try {
				const answer = await this.ask(locations);
				if (turn !== this.chosen)
					return;
				setText(this.said, whatIfWords(answer));
				this.fill(this.bars, [["now", answer.empty_now_bytes], [locations.length === 1 ? `without ${shortLocation(locations[0])}` : `without these ${count(locations.length)} lines`, answer.empty_then_bytes]]);
			} catch (e) {
				if (turn === this.chosen) {
					this.bars.replaceChildren();
					setText(this.said, e.status ? e.message : "No answer: the process may have ended.");
				}
			}
		}, SOON);
	}

	// rows: [label, bytes], the first one is what is empty now
	fill(box, rows) {
		const most = Math.max(...rows.map(([, n]) => n), 1);
		box.replaceChildren(...rows.map(([label, n], i) => {
			const bar = el("i", { class: i ? "then" : "now" });
			bar.style.width = `${n / most * 60}%`;
			return el("p", {}, bar, el("span", {}, `${bytes(n)} ${label}`));
		}));
	}

	// One question after the other: each is a pass over all live blocks.
	async chart() {
		const turn = ++this.turn, rows = [], { top } = this;
		this.begin.disabled = true;
		try {
			for (let i = 0; i < top.length; i++) {
				setText(this.progress, `${count(i + 1)} of ${count(top.length)}`);
				const answer = await this.ask(top.slice(0, i + 1).map((l) => l.location));
				if (turn !== this.turn)
					return;
				if (!i)
					rows.push(["now", answer.empty_now_bytes]);
				rows.push([`${i ? "+ " : ""}without ${shortLocation(top[i].location)}`, answer.empty_then_bytes]);
				this.fill(this.steps, rows);
			}
			setText(this.progress, "");
		} catch (e) {
			if (turn === this.turn)
				setText(this.progress, e.status ? e.message : "No answer: the process may have ended.");
		} finally {
			this.begin.disabled = false;
		}
	}
}
