// SPDX-License-Identifier: GPL-2.0-or-later
// memory_trim.js - the button that gives empty pages back: it says what that would do, and asks.

import { el, setText } from "./dom.js";
import { trimWords } from "./memory_words.js";

export class TrimControl {
	// on: {estimate(): a promise of what a trim would do, trim(): a promise of what it did, say(text)}
	constructor(on) {
		this.on = on;
		this.button = el("button", { type: "button", "data-action": "trim", onclick: () => this.ask() }, "Trim\u2026");
		this.words = el("span", { id: "trim-words" });
		this.no = el("button", { type: "button", class: "no", onclick: () => this.close() }, "Cancel");
		this.yes = el("button", { type: "button", class: "yes", onclick: () => this.run() }, "Trim");
		this.question = el("div", { class: "ask", role: "alertdialog", "aria-label": "Trim", "aria-describedby": "trim-words", hidden: true }, this.words, this.no, this.yes);
		this.question.addEventListener("keydown", (e) => {
			if (e.key !== "Escape")
				return;
			e.stopPropagation();
			this.close();
		});
	}

	take({ allocator }) {
		this.allocator = allocator;
	}

	// The focus is on what changes nothing.
	async ask() {
		this.on.say("");
		this.button.disabled = true;
		try {
			setText(this.words, `${trimWords(await this.on.estimate(), this.allocator)} Both moments are shown then.`);
			this.question.hidden = false;
			this.no.focus();
		} catch (e) {
			this.on.say(this.failed(e));
		} finally {
			this.button.disabled = false;
		}
	}

	close() {
		this.question.hidden = true;
		this.button.focus();
	}

	async run() {
		this.close();
		this.button.disabled = true;
		this.on.say("Trim\u2026");
		try {
			this.on.say(await this.on.trim());
		} catch (e) {
			this.on.say(this.failed(e));
		} finally {
			this.button.disabled = false;
		}
	}

	failed(e) {
		return `Trim: ${e.status ? e.message : "no answer; the process may be gone"}`;
	}
}
