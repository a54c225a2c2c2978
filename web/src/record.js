// SPDX-License-Identifier: GPL-2.0-or-later
// record.js - the button that records calls for replay. It asks what to record, says how far it is, and stops it. The
// server is asked when the button is pressed, and while it records and the question is open.

import { el, setText } from "./dom.js";
import { getJSON } from "./server.js";
import { CHOICES, DEFAULTS, recordWords, startPath } from "./record_words.js";

const LOOK = 2000; // ms between two looks at what is recorded
const ABOUT = "Record: every call of malloc and free goes to a file, which mwrapctl replay plays under other allocators and settings.";
const POST = { method: "POST", headers: { Accept: "application/json" } };

export class Record {
	// say(text): what is said of it
	constructor(say) {
		this.tell = say;
		this.button = el("button", { type: "button", title: ABOUT, "data-action": "record", onclick: () => this.press() }, "Record\u2026");
		this.words = el("span", { id: "record-words" });
		this.fields = {
			seconds: el("input", { type: "number", min: 1, "aria-label": "Seconds at most" }),
			max: el("input", { type: "text", size: 6, autocomplete: "off", spellcheck: "false", "aria-label": "Bytes at most" }),
			full: this.choice("full", "If the disk is slow"),
			clock: this.choice("clock", "Clock"),
		};
		for (const [name, value] of Object.entries(DEFAULTS))
			this.fields[name].value = value;
		this.form = el("span", { class: "fields" }, "at most", this.fields.seconds, "seconds and", this.fields.max, "bytes;", this.fields.full, this.fields.clock);
		this.yes = el("button", { type: "button", class: "yes", onclick: () => (this.recording ? this.stop() : this.start()) });
		this.no = el("button", { type: "button", class: "no", onclick: () => this.close() }, "Close");
		this.question = el("div", { class: "ask record", role: "dialog", "aria-label": "Record for replay", "aria-describedby": "record-words", hidden: true }, this.words, this.form, this.yes, this.no);
		this.question.addEventListener("keydown", (e) => {
			if (e.key === "Escape") {
				e.stopPropagation();
				this.close();
			} else if (e.key === "Enter" && e.target.matches("input")) {
				e.preventDefault();
				this.start();
			}
		});
	}

	choice(name, label) {
		return el("select", { "aria-label": label }, Object.entries(CHOICES[name]).map(([value, text]) => el("option", { value }, text)));
	}

	// hidden: the process can't be changed; away: it can't be reached
	update(hidden, away) {
		this.button.hidden = hidden;
		this.button.disabled = away;
		if (hidden || away)
			this.hide();
	}

	async press() {
		if (!this.question.hidden)
			return this.close();
		this.tell("");
		const state = await this.ask("/trace.json");
		if (!state)
			return undefined;
		this.show(state);
		this.question.hidden = false;
		return (this.recording ? this.no : this.fields.seconds).focus();
	}

	// The server's answer at a path; null: it failed, and the user was told why
	async ask(path, options) {
		this.button.disabled = this.yes.disabled = true;
		try {
			return await getJSON(path, options);
		} catch (e) {
			this.tell(`Record: ${e.status ? e.message : "no answer; the process may be gone"}`);
			return null;
		} finally {
			this.button.disabled = this.yes.disabled = false;
		}
	}

	show(state) {
		this.recording = Boolean(state.recording);
		setText(this.button, this.recording ? "Recording\u2026" : "Record\u2026");
		setText(this.words, this.recording ? recordWords(state) : `${recordWords(state)} ${ABOUT}`.trim());
		setText(this.yes, this.recording ? "Stop" : "Record");
		this.form.hidden = this.recording;
		clearTimeout(this.later);
		if (this.recording)
			this.later = setTimeout(() => this.look(), LOOK);
	}

	// How far it is, for as long as the question is open
	async look() {
		if (this.question.hidden)
			return;
		try {
			const state = await getJSON("/trace.json");
			if (this.recording && !state.recording)
				this.tell(recordWords(state));
			this.show(state);
		} catch {
			this.later = setTimeout(() => this.look(), LOOK); // what is gone says so elsewhere
		}
	}

	async start() {
		const { path, wrong } = startPath(Object.fromEntries(Object.entries(this.fields).map(([name, field]) => [name, field.value.trim()])));
		if (wrong)
			return this.tell(wrong);
		this.tell("");
		if (!await this.ask(path, POST))
			return undefined;
		const state = await this.ask("/trace.json");
		if (state)
			this.show(state);
		return this.no.focus();
	}

	async stop() {
		if (!await this.ask("/trace/stop", POST))
			return;
		const state = await this.ask("/trace.json");
		if (!state)
			return;
		this.show(state);
		this.close();
		this.tell(recordWords(state));
	}

	hide() {
		this.question.hidden = true;
		clearTimeout(this.later);
	}

	close() {
		this.hide();
		(this.button.closest("details")?.querySelector("summary") ?? this.button).focus();
	}
}
