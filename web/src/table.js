// SPDX-License-Identifier: GPL-2.0-or-later
// table.js - the table of locations. Only the rows that can be seen are in the
// document, between two spacers; they are used again for other rows when it
// scrolls. All rows have the same height (--row in the style sheet).

import { isNarrow, isShort, widthOf } from "./fit.js";
import { el, setText, setAttr, setAmount, flash } from "./dom.js";
import { visible, duration } from "./format.js";
import { pieces } from "./place.js";
import { POINTS } from "./spark.js";
import { drawTrend, trendCell } from "./trend.js";
import { flameLink, keepsStacks } from "./callers.js";
import { placePath } from "./server.js";

const AROUND = 6; // rows kept ready above and below, where it scrolls
const LATER = 250; // ms after which they are made ready where it doesn't

const aboutTime = (seconds) => (seconds === null ? "" : `, about ${duration(seconds)}`);

export class Table {
	// on: {sort(column), open(slot), draw()}: draw is asked for when it scrolls
	constructor(on) {
		this.on = on;
		this.pool = [];
		this.spare = [];
		this.key = "";
		this.active = -1;      // position of the row that the arrows moved to
		this.activeId = null;  // what it was, to follow it when the order changes
		this.tall = 0;         // how much of the rows can be seen, in pixels
		this.at = 0;           // and from where
		this.cols = el("colgroup");
		this.head = el("tr", { "aria-rowindex": 1 });
		this.above = el("tr", { class: "spacer", "aria-hidden": "true" }, el("td"));
		this.below = el("tr", { class: "spacer", "aria-hidden": "true" }, el("td"));
		this.body = el("tbody", {}, this.above, this.below);
		this.table = el("table", { role: "grid", tabindex: 0, "aria-label": "Locations", class: "locations" },
			this.cols, el("thead", {}, this.head), this.body);
		this.empty = el("p", { class: "nothing", hidden: true });
		this.root = el("div", { class: "grid" }, this.table, this.empty);
		this.root.addEventListener("scroll", () => on.draw(), { passive: true });
		this.body.addEventListener("click", (e) => this.click(e));
		this.table.addEventListener("keydown", (e) => this.press(e));
		new ResizeObserver(() => on.draw()).observe(this.root);
	}

	get rowHeight() {
		return this.height ||= parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) || 26;
	}

	// Reads what the document has to be laid out for: before it is changed, else it is laid out twice.
	read() {
		this.tall = this.root.clientHeight;
		this.at = this.root.scrollTop;
	}

	// view: see view.js; sort: {id, descending}; span: [t0, t1] of the curves; since: {text, about} of the
	// growth; life: {unit, ago(n) seconds or null}; quick: see draw()
	update(view, columns, sort, { span, since, life, quick }) {
		Object.assign(this, { view, columns, sort, span, life });
		this.header(since);
		if (this.activeId !== null && view.source.id[view.order[this.active]] !== this.activeId)
			this.active = view.order.findIndex((slot) => view.source.id[slot] === this.activeId);
		setAttr(this.table, "aria-rowcount", view.order.length + 1);
		this.draw(true, quick);
	}

	header(since) {
		const narrow = isNarrow(innerWidth);
		const key = this.columns.map((c) => c.id).join() + narrow + isShort(innerWidth);
		if (key !== this.key) {
			const wide = (c) => widthOf(c, innerWidth);
			this.key = key;
			this.pool = [];
			this.spare = [];
			this.body.replaceChildren(this.above, this.below);
			this.cols.replaceChildren(...this.columns.map((c) => {
				const col = el("col");
				col.style.width = c.wide ? `${wide(c)}rem` : "auto";
				return col;
			}));
			this.head.replaceChildren(...this.columns.map((c) => this.headerCell(c)));
			this.above.firstChild.colSpan = this.below.firstChild.colSpan = this.columns.length;
			this.table.style.minWidth = `${this.columns.reduce((n, c) => n + wide(c), narrow ? 9 : 12)}rem`;
		}
		this.columns.forEach((c, i) => {
			const here = c.id === this.sort.id;
			setAttr(this.head.children[i], "aria-sort", here ? (this.sort.descending ? "descending" : "ascending") : null);
			if (c.id === "growth") {
				setText(this.head.children[i].querySelector(".title"), isShort(innerWidth) ? since.text : `${c.title} ${since.text}`);
				setAttr(this.head.children[i].firstChild, "title", `${c.about} ${since.about}`);
			}
			setText(this.head.children[i].querySelector(".arrow"), here ? (this.sort.descending ? "\u25be" : "\u25b4") : "");
		});
	}

	headerCell(c) {
		return el("th", { scope: "col", class: c.text || c.drawn ? "" : "num", "data-column": c.id },
			el("button", { type: "button", title: c.about, onclick: () => this.on.sort(c) }, el("span", { class: "title" }, c.title),
				el("span", { class: "arrow", "aria-hidden": "true" })));
	}

	// fresh: the numbers may have changed, else only the place; quick: somebody types,
	// and what can't be seen has time until he stops. After read().
	draw(fresh, quick) {
		if (!this.tall)
			this.read(); // it may just have come into sight
		if (!this.view || !this.tall)
			return;
		if (quick) {
			clearTimeout(this.later);
			this.later = setTimeout(() => { this.later = 0; this.on.draw(); }, LATER);
		}
		const { order } = this.view, height = this.rowHeight, around = this.later ? 0 : AROUND;
		const top = Math.floor(this.at / height);
		const first = Math.max(0, Math.min(top - around, order.length));
		const n = Math.min(order.length, top + Math.ceil(this.tall / height) + 1 + around) - first;
		this.turn(first);
		this.stretch(Math.max(n, 0));
		this.above.firstChild.style.height = `${first * height}px`;
		this.below.firstChild.style.height = `${Math.max(0, order.length - first - n) * height}px`;
		this.pool.forEach((row, k) => this.fill(row, first + k, order[first + k], fresh));
		this.empty.hidden = order.length > 0;
		setAttr(this.table, "aria-activedescendant", this.active >= first && this.active < first + n ? `row-${this.active}` : null);
	}

	// Rows that scroll out at one end come in at the other: all between stay as they are.
	turn(first) {
		const { pool } = this;
		let by = pool.length ? first - pool[0].position : 0;
		if (Math.abs(by) >= pool.length)
			return;
		for (; by > 0; by--) {
			pool.push(pool.shift());
			this.below.before(pool[pool.length - 1].tr);
		}
		for (; by < 0; by++) {
			pool.unshift(pool.pop());
			this.above.after(pool[0].tr);
		}
	}

	stretch(n) {
		while (this.pool.length < n) {
			const row = this.spare.pop() || this.makeRow();
			this.pool.push(row);
			this.below.before(row.tr);
		}
		while (this.pool.length > n) {
			const row = this.pool.pop();
			row.tr.remove();
			this.spare.push(row); // making one takes longer than filling it
		}
	}

	makeRow() {
		const cells = this.columns.map((c) => {
			if (c.drawn)
				return trendCell();
			if (c.text)
				return el("td", { class: "location" }, el("a", {}, el("span", { class: "far" }), el("span", { class: "near" }), el("b", {}, el("span"), el("span", { class: "no" }))),
					keepsStacks() && el("a", { class: "callers", tabindex: -1, title: "Callers: the flame graph of this location (the key w)" }, "callers"));
			return el("td", { class: c.bar ? `num bar ${c.bar}` : "num" }, c.bar ? el("i") : null, el("span"));
		});
		return { tr: el("tr", { role: "row" }, cells), cells, id: null, values: [], parts: [], position: -1 };
	}

	fill(row, position, slot, fresh) {
		const { source } = this.view;
		const same = row.id === source.id[slot];
		if (row.position !== position) {
			row.position = position;
			row.tr.id = `row-${position}`;
			setAttr(row.tr, "aria-rowindex", position + 2);
		}
		setAttr(row.tr, "aria-selected", position === this.active ? "true" : null);
		this.section(row, position);
		if (same && !fresh)
			return;
		row.slot = slot;
		row.id = source.id[slot];
		this.columns.forEach((c, i) => {
			if (c.text)
				same || this.place(row.cells[i], slot);
			else if (c.drawn)
				this.curve(row.cells[i], slot);
			else
				this.number(row, i, c, slot, same);
		});
	}

	// By trend the rows that grow steadily come first, and they alone are coloured.
	section(row, position) {
		const { growers } = this.view, rest = growers !== null && position >= growers;
		setAttr(row.tr, "data-rest", rest ? "" : null);
		setAttr(row.tr, "data-section", !growers ? null : position === 0 ? `Grows steadily (${growers})` : position === growers ? "Everything else, by size" : null);
		const cell = row.cells[this.columns.findIndex((c) => c.text)];
		setAttr(cell, "data-section", row.tr.dataset.section);
	}

	number(row, i, c, slot, same) {
		const value = c.get(this.view.source, slot), cell = row.cells[i];
		if (c.bar) {
			const max = this.view.max[c.id];
			const part = max ? Math.abs(value) / max || 0 : 0;
			if (row.parts[i] !== part)
				cell.firstChild.style.width = `calc(${(part * 100).toFixed(1)}% + ${(part * 0.4).toFixed(2)}rem)`;
			row.parts[i] = part;
			setAttr(cell, "data-sign", value < 0 ? "less" : value > 0 ? "more" : null);
			setAttr(cell, "data-heat", c.bar === "growth" && value > 0 ? (part > 0.5 ? 3 : part > 0.1 ? 2 : 1) : null);
		}
		if (same && !c.kinds && Object.is(row.values[i], value))
			return;
		setAmount(cell.lastChild, c.parts(value, this.life.unit, this.view.source));
		cell.title = c.exact(value, this.view.source, slot) + (c.life && value > 0 ? aboutTime(this.life.ago(value)) : "");
		setAttr(cell, "data-none", !value || value < 0 && c.life ? "" : null);
		if (same && c.bar)
			flash(cell.lastChild);
		row.values[i] = value;
	}

	place(cell, slot) {
		const { source } = this.view;
		const location = source.location[slot];
		const a = cell.firstChild;
		const parts = ["dir", "gem", "kind"].includes(source.grouped) ? ["", "", location] : pieces(location, source.fileLength[slot]);
		const [, name, line] = /^(.*?)(:\d+)?$/s.exec(parts[2]);
		[a.children[0], a.children[1], ...a.children[2].children].forEach((n, i) => setText(n, visible([parts[0], parts[1], name, line || ""][i])));
		cell.title = visible(location);
		a.setAttribute("href", source.grouped ? "#" : placePath(location));
		a.tabIndex = -1; // the arrows and Enter do it: one stop for the whole table
		if (a.nextSibling) {
			a.nextSibling.hidden = Boolean(source.grouped);
			setAttr(a.nextSibling, "href", source.grouped ? null : flameLink({ location }));
		}
	}

	curve(cell, slot) {
		const [t0, t1] = this.span;
		drawTrend(cell, this.view.source.sample(slot, t0, t1, POINTS));
	}

	click(event) {
		const tr = event.target.closest("tr[role=row]");
		if (!tr || event.target.closest(".callers") || event.ctrlKey || event.metaKey || event.shiftKey || event.button)
			return;
		event.preventDefault();
		this.on.open(this.pool.find((row) => row.tr === tr).slot);
	}

	press(event) {
		if (!this.view || event.ctrlKey || event.metaKey || event.altKey || event.target !== this.table)
			return;
		const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 2);
		const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
		if (event.key in moves) {
			event.preventDefault();
			this.move(this.active + moves[event.key]);
		} else if (event.key === "Enter" && this.active >= 0) {
			event.preventDefault();
			this.on.open(this.view.order[this.active]);
		} else if (event.key === "w" && this.active >= 0) {
			this.body.querySelector(`#row-${this.active} .callers[href]`)?.click();
		}
	}

	// Makes the row at a position the active one, and scrolls to it.
	move(to) {
		const { order, source } = this.view;
		if (!order.length)
			return;
		this.active = Math.max(0, Math.min(order.length - 1, to));
		this.activeId = source.id[order[this.active]];
		const height = this.rowHeight;
		const top = this.active * height, head = this.head.offsetHeight;
		if (top < this.root.scrollTop)
			this.root.scrollTop = top;
		else if (top + height + head > this.root.scrollTop + this.root.clientHeight)
			this.root.scrollTop = top + height + head - this.root.clientHeight;
		this.read();
		this.draw(false);
	}

	focus() {
		this.table.focus({ preventScroll: true });
		if (this.active < 0)
			this.move(0);
	}

	top() {
		this.root.scrollTop = this.at = 0;
		this.active = -1;
		this.activeId = null;
	}
}
