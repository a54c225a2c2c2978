// SPDX-License-Identifier: GPL-2.0-or-later
// toolbar.js - the line above the table: filter, grouping, columns, view.

import { el, setText, setAttr } from "./dom.js";
import { COLUMNS, defaultColumns } from "./columns.js";
import { GROUPS } from "./group.js";
import { base } from "./server.js";
import { EVERY } from "./server_columns.js";

const WORDS = "Words that must be in the location; gem:name for a gem, kind:name for the kind of its memory, -word for what must not be there";

const HEARD = 700; // ms after the last key

// The server's rows that are closest to what is shown: its filter knows one part of the
// location, not words, and its columns are its own.
export function exportQuery({ q, group, sort, desc }) {
	const p = new URLSearchParams();
	p.set("sort", EVERY.includes(sort) ? sort : "growth");
	if (EVERY.includes(sort) && desc !== null)
		p.set("order", desc ? "desc" : "asc");
	if (group !== "line")
		p.set("group", group);
	const kind = /^kind:(?:"([^"]+)"|(\S+))$/i.exec(q || "");
	if (kind)
		p.set("kind", kind[1] ?? kind[2]);
	else if (q && !/[\s"]|^-|^(gem|kind):/i.test(q))
		p.set("q", q);
	return p.toString();
}

export class Toolbar {
	// on: {set(change, replace), down()}
	constructor(on) {
		this.on = on;
		this.input = el("input", { type: "search", placeholder: "filter: path, word, gem:name", "aria-label": "Filter locations", title: WORDS,
			autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/",
			oninput: () => on.set({ q: this.input.value }, true) });
		this.input.addEventListener("keydown", (e) => {
			if (e.key === "ArrowDown" || e.key === "Enter") {
				e.preventDefault();
				on.down();
			}
		});
		this.groups = this.choice("group", "Group by", GROUPS);
		this.views = this.choice("view", "Show as", ["table", "map"], { map: "treemap" });
		this.columns = el("fieldset", {}, el("legend", {}, "Columns"));
		this.boxes = COLUMNS.filter((c) => !c.fixed).map((c) => {
			const box = el("input", { type: "checkbox", value: c.id, onchange: () => this.chosen() });
			this.columns.append(el("label", { title: c.about }, box, ` ${c.title}`));
			box.kinds = Boolean(c.kinds);
			return box;
		});
		this.menu = el("details", { class: "menu" }, el("summary", {}, "columns"), this.columns);
		this.summary = el("p", { class: "summary" });
		this.heard = el("p", { class: "heard", role: "status" }); // not at each tick: when what is looked for changed
		this.links = ["tsv", "csv", "json"].map((form) => el("a", { "data-form": form }, form.toUpperCase()));
		this.exports = el("p", { class: "exports", title: "The rows as the server has them: sorted, grouped, and filtered by one word" }, this.links);
		this.root = el("div", { class: "toolbar" }, el("span", { class: "filter-box" }, el("kbd", { "aria-hidden": "true" }, "/"), this.input),
			this.groups, this.views, this.menu, this.summary, this.exports, this.heard);
		addEventListener("pointerdown", (e) => {
			if (!this.menu.contains(e.target))
				this.menu.open = false;
		});
		this.menu.addEventListener("keydown", (e) => {
			if (e.key === "Escape" && this.menu.open) {
				e.stopPropagation();
				this.menu.open = false;
				this.menu.firstChild.focus();
			}
		});
	}

	choice(key, label, names, titles = {}) {
		return el("div", { class: `choice ${key}`, role: "group", "aria-label": label },
			key === "group" ? el("span", { class: "what", "aria-hidden": "true" }, "group") : null,
			names.map((name) => el("button", { type: "button", [`data-${key}`]: name, onclick: () => this.on.set({ [key]: name }) }, titles[name] || name)));
	}

	chosen() {
		const columns = this.boxes.filter((b) => b.checked).map((b) => b.value);
		this.on.set({ columns: columns.join() === defaultColumns(this.stacks).filter((id) => id !== "location").join() ? null : columns }, true);
	}

	// summary: what is shown, with numbers that change all the time; found: how many, for those who listen;
	// stacks: the process keeps some
	update(state, summary, found, stacks) {
		this.stacks = stacks;
		this.groups.querySelector("[data-group=kind]").hidden = !stacks && state.group !== "kind";
		if (this.input.value !== state.q)
			this.input.value = state.q;
		for (const [key, box] of [["group", this.groups], ["view", this.views]])
			for (const button of box.querySelectorAll("button"))
				setAttr(button, "aria-pressed", button.dataset[key] === state[key]);
		const columns = state.columns || defaultColumns(stacks);
		for (const box of this.boxes) {
			box.checked = columns.includes(box.value) && (stacks || !box.kinds);
			box.parentNode.hidden = box.kinds && !stacks;
		}
		setText(this.summary, summary);
		const what = JSON.stringify([state.q, state.group]);
		if (what !== this.what) {
			clearTimeout(this.later);
			if (this.what !== undefined) // not when it is first shown
				this.later = setTimeout(() => setText(this.heard, this.found), HEARD);
			this.what = what;
		}
		this.found = found;
		for (const link of this.links)
			setAttr(link, "href", `${base()}/each/0.${link.dataset.form}?${exportQuery(state)}`);
	}
}
