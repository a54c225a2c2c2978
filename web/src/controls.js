// SPDX-License-Identifier: GPL-2.0-or-later
// controls.js - mark, reset, trim, pause: each says what it will do, asks once
// in the page where there is no way back, and says what it did.

import { el, setText } from "./dom.js";
import { post } from "./server.js";

// ask: what to ask before, or a function of the last point that gives it or null
const ACTIONS = {
	mark: { label: "Mark", path: "/mark",
		about: "Mark: growth is also shown from now on, for everybody who looks. Counters stay.",
		ask: (p) => (p?.mark !== null && p?.mark !== undefined ? "The mark moves to now, for everybody who looks: growth since the present one is forgotten." : null) },
	unmark: { label: "Clear mark", path: "/mark/clear",
		about: "Clear mark: the column of growth since the mark goes, for everybody who looks. Counters stay.",
		ask: "The mark goes, for everybody who looks: growth since then is forgotten." },
	reset: { label: "Reset", path: "/reset",
		about: "Reset counters: total, allocations, frees, lifespans and growth start again at zero; live stays.",
		ask: "Reset counters: total, allocations, frees, lifespans and growth start again at zero; live stays. There is no undo." },
	trim: { label: "Trim", path: "/trim",
		about: "Trim: asks the allocator (malloc_trim) to give free memory back to the system. Nothing that is in use is touched." },
	pause: { label: "Pause", path: "/pause",
		about: "Pause: what is allocated until tracking is resumed isn\u2019t counted; frees of what is known are.",
		ask: "Pause tracking: what is allocated until it is resumed is never counted; frees of what is known are." },
	resume: { label: "Resume", path: "/resume",
		about: "Resume: what is allocated from now on is counted again." },
};

export class Controls {
	constructor() {
		this.point = null;
		this.buttons = {};
		this.said = el("p", { class: "said", role: "status" });
		this.question = el("div", { class: "ask", role: "alertdialog", "aria-label": "Really?", hidden: true });
		for (const [name, action] of Object.entries(ACTIONS))
			this.buttons[name] = el("button", { type: "button", title: action.about, "data-action": name,
				onclick: () => this.press(name) }, action.label);
		this.root = el("div", { class: "actions", role: "group", "aria-label": "Controls" }, Object.values(this.buttons));
		this.messages = el("div", { class: "messages" }, this.question, this.said);
		this.question.addEventListener("keydown", (e) => {
			if (e.key === "Escape") {
				e.stopPropagation();
				this.close();
			}
		});
		this.update(null, true, true);
	}

	// readOnly: nothing can be done; away: the process can't be reached; pid: what it is
	update(point, readOnly, away, pid) {
		this.point = point;
		this.pid = pid;
		const marked = point?.mark !== null && point?.mark !== undefined;
		this.buttons.unmark.hidden = !marked;
		this.buttons.pause.hidden = Boolean(point?.paused);
		this.buttons.resume.hidden = !point?.paused;
		this.root.hidden = readOnly;
		for (const button of Object.values(this.buttons))
			button.disabled = away;
		if (away || readOnly)
			this.question.hidden = true;
	}

	press(name) {
		const { ask } = ACTIONS[name];
		const text = typeof ask === "function" ? ask(this.point) : ask;
		if (text)
			this.ask(name, text);
		else
			this.run(name);
	}

	ask(name, text) {
		const yes = el("button", { type: "button", class: "yes", onclick: () => { this.close(); this.run(name); } }, ACTIONS[name].label);
		const no = el("button", { type: "button", class: "no", onclick: () => this.close() }, "Cancel");
		this.asked = this.buttons[name];
		setText(this.said, "");
		this.question.replaceChildren(el("span", {}, text), yes, no);
		this.question.hidden = false;
		yes.focus();
	}

	close() {
		this.question.hidden = true;
		this.asked?.focus();
	}

	async run(name) {
		setText(this.said, `${ACTIONS[name].label}\u2026`);
		try {
			const { said, pid } = await post(ACTIONS[name].path);
			setText(this.said, pid && this.pid && pid !== this.pid ? `Another process, pid ${pid}, answered: ${said}` : said);
		} catch (e) {
			setText(this.said, `${ACTIONS[name].label}: ${e.status ? e.message : "no answer; the process may be gone"}`);
		}
	}
}
