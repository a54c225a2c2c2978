// SPDX-License-Identifier: GPL-2.0-or-later
// controls.js - mark, name a moment, annotate, reset, trim, pause, exact counts, exact callers, record: each says what it will do, asks
// once in the page where there is no way back, and says what it did. Answers and questions lie
// over the page, which stays where it is.

import { el, setText } from "./dom.js";
import { menu } from "./menu.js";
import { post, encode } from "./server.js";
import { Record } from "./record.js";
import { NAME_MAX, markPath } from "./compare.js";

const SAID = 30000; // ms that an answer stays
const TEXT_MAX = 80; // bytes of an annotation that the server takes
const CALLERS_MAX = 16; // that the server takes

// ask: what to ask before; own: done in this tab, so that it works without a right to change anything;
// gone: for a process that has ended; wants: an input, and what path its value makes, if it is right
const ACTIONS = {
	save: { label: "Save what is shown", own: true, gone: true,
		about: "Save what is shown: the table\u2019s rows as a file (TSV), from what this tab has kept." },
	mark: { label: "Mark", own: true,
		about: "Mark: this tab shows growth from now on. Nobody else sees it, and counters stay." },
	unmark: { label: "Clear mark", own: true,
		about: "Clear mark: this tab shows growth since the start or the last reset again." },
	name: { label: "Keep\u2026",
		about: "Keep: a named mark, which keeps what is live at each location now, to compare it with later moments.",
		ask: "Keep what is live at each location now, under this name:",
		wants: { type: "text", maxlength: NAME_MAX, "aria-label": "Name of the mark", placeholder: "before-the-load", autocomplete: "off" },
		yes: "Keep", wrong: `Keep: a name of 1 to ${NAME_MAX} bytes, please, and no number, nor \u201cnow\u201d or \u201cstart\u201d.`,
		path: markPath },
	annotate: { label: "Annotate\u2026",
		about: "Annotate: a line with a text on everybody\u2019s plots, such as a deploy.",
		ask: "A line on everybody\u2019s plots, now, with this text:",
		wants: { type: "text", maxlength: TEXT_MAX, "aria-label": "Text of the annotation", placeholder: "deploy-17", autocomplete: "off" },
		yes: "Annotate", wrong: `Annotate: 1 to ${TEXT_MAX} bytes of text, please.`,
		path: (text) => text && new TextEncoder().encode(text).length <= TEXT_MAX && `/annotate?text=${encode(text)}` },
	reset: { label: "Reset", path: "/reset",
		about: "Reset counters: total, allocations, frees, lifespans and growth start again at zero; live stays.",
		ask: "Reset counters: total, allocations, frees, lifespans and growth start again at zero; live stays. There is no undo." },
	trim: { label: "Trim", path: "/trim",
		about: "Trim: asks the allocator (malloc_trim) to give free memory back to the system. Nothing that is in use is touched." },
	pause: { label: "Pause", path: "/pause",
		about: "Pause: allocations until tracking is resumed aren\u2019t counted; frees of known blocks are.",
		ask: "Pause tracking: allocations until it is resumed are never counted; frees of known blocks are." },
	resume: { label: "Resume", path: "/resume",
		about: "Resume: allocations from now on are counted again." },
	exact: { label: "Count exactly", path: "/exact",
		about: "Count exactly: every block is counted from then on; what lives now stays an estimate." },
	callers: { label: "Callers\u2026",
		about: "Exact callers: each line is counted together with a number of its Ruby callers.",
		ask: "How many Ruby callers to count together with each line, 0 to 16? The tracker takes 23 % more instructions " +
			"for a string with 2, 33 % with 4, 52 % with 8. Each chain of callers is a row.",
		wants: { type: "number", min: 0, max: CALLERS_MAX, "aria-label": "Callers of each line" },
		yes: "Set", wrong: `Exact callers: a number from 0 to ${CALLERS_MAX}, please.`,
		path: (text) => /^\d+$/.test(text) && Number(text) <= CALLERS_MAX && `/ctl?bt=${Number(text)}` },
};

// In the menu: what takes nothing away, and what does. The others are beside it.
const HARMLESS = ["name", "annotate", "callers", "exact", "trim", "record"], APART = ["pause", "reset"];

export class Controls {
	// on: {save(), mark(), unmark(): what was done, as text; changed(): something was done to the process}
	constructor(on) {
		this.on = on;
		this.buttons = {};
		this.said = el("p", { class: "said", role: "status" });
		this.question = el("div", { class: "ask", role: "alertdialog", "aria-label": "Question", hidden: true });
		for (const [name, action] of Object.entries(ACTIONS))
			this.buttons[name] = el("button", { type: "button", title: action.about, "data-action": name,
				onclick: () => this.press(name) }, action.label);
		this.record = new Record((text) => this.say(text));
		const list = (kind, names) => el("div", { class: kind }, names.map((name) => (name === "record" ? this.record.button : this.buttons[name])));
		this.summary = el("summary", {}, "Actions");
		this.menu = menu("doing", this.summary, el("div", { class: "list" }, list("harmless", HARMLESS), list("apart", APART)));
		this.menu.addEventListener("click", (e) => {
			if (!e.target.matches("button"))
				return;
			this.menu.open = false;
			if (this.menu.contains(document.activeElement)) // else a question has the focus
				this.summary.focus();
		});
		const shown = Object.keys(ACTIONS).filter((name) => !HARMLESS.includes(name) && !APART.includes(name));
		this.root = el("div", { class: "actions", role: "group", "aria-label": "Controls" }, shown.map((name) => this.buttons[name]), this.menu);
		this.messages = el("div", { class: "messages" }, this.question, this.record.question, this.said);
		this.question.addEventListener("keydown", (e) => {
			if (e.key === "Escape") {
				e.stopPropagation();
				this.close();
			}
		});
		this.update({ readOnly: true, away: true });
	}

	// point: the stream's last; readOnly: the process can't be changed; away: it can't be reached;
	// pid: what it is; marked: this tab has a mark; kept: rows are shown that could be saved
	update({ point, readOnly, away, pid, marked, kept }) {
		this.pid = pid;
		this.callers = point?.bt;
		setText(this.buttons.callers, this.callers === undefined ? ACTIONS.callers.label : `Callers: ${this.callers}\u2026`);
		for (const [name, action] of Object.entries(ACTIONS)) {
			this.buttons[name].hidden = action.gone ? !(away && kept) : Boolean(readOnly && !action.own);
			this.buttons[name].disabled = away && !action.gone;
		}
		this.buttons.unmark.hidden ||= !marked;
		this.buttons.pause.hidden ||= Boolean(point?.paused);
		this.buttons.resume.hidden ||= !point?.paused;
		this.buttons.exact.hidden ||= !point?.sampled;
		this.record.update(Boolean(readOnly), Boolean(away));
		this.menu.hidden = Boolean(readOnly || away);
		if (away || readOnly)
			this.question.hidden = true;
	}

	say(text) {
		setText(this.said, text);
		clearTimeout(this.later);
		if (text)
			this.later = setTimeout(() => setText(this.said, ""), SAID);
	}

	press(name) {
		const { ask, own, wants } = ACTIONS[name];
		if (own)
			this.say(this.on[name]());
		else if (wants)
			this.askFor(name, ACTIONS[name]);
		else if (ask)
			this.ask(name, ask);
		else
			this.run(name);
	}

	// The focus is on what changes nothing.
	ask(name, text) {
		const yes = el("button", { type: "button", class: "yes", onclick: () => { this.close(); this.run(name); } }, ACTIONS[name].label);
		const no = this.cancel();
		this.open(name, el("span", { id: "question" }, text), no, yes);
		no.focus();
	}

	askFor(name, { ask, wants, yes, wrong, path }) {
		const input = el("input", { ...wants, value: name === "callers" ? this.callers : null });
		const done = () => {
			const to = path(input.value.trim());
			if (!to)
				return this.say(wrong);
			this.close();
			return this.run(name, to);
		};
		input.addEventListener("keydown", (e) => {
			if (e.key === "Enter") {
				e.preventDefault(); // else it would press the button that has the focus then
				done();
			}
		});
		this.open(name, el("span", { id: "question" }, ask), input, el("button", { type: "button", class: "yes", onclick: done }, yes), this.cancel());
		input.focus();
		input.select();
	}

	cancel() {
		return el("button", { type: "button", class: "no", onclick: () => this.close() }, "Cancel");
	}

	open(name, ...children) {
		this.record.hide();
		this.asked = this.buttons[name];
		this.say("");
		this.question.replaceChildren(...children);
		this.question.setAttribute("aria-describedby", "question");
		this.question.hidden = false;
	}

	close() {
		this.question.hidden = true;
		(this.menu.contains(this.asked) ? this.summary : this.asked)?.focus();
	}

	async run(name, path = ACTIONS[name].path) {
		const { label } = ACTIONS[name];
		this.say(label.endsWith("\u2026") ? label : `${label}\u2026`);
		try {
			const { said, pid } = await post(path);
			this.say(pid && this.pid && pid !== this.pid ? `Another process, pid ${pid}, answered: ${said}` : said);
			this.on.changed();
		} catch (e) {
			this.say(`${label.replace("\u2026", "")}: ${e.status ? e.message : "no answer; the process may be gone"}`);
		}
	}
}
