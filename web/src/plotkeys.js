// SPDX-License-Identifier: GPL-2.0-or-later
// plotkeys.js - a plot by keyboard: the arrows move the cursor, with Shift they
// select a part of the time, Enter applies it, Esc clears what there is.

const STEPS = 120; // from one end to the other
const MOVES = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -12, PageUp: 12, Home: -STEPS, End: STEPS };

export class PlotKeys {
	// on: {span() gives [from, to], cursor(t or null), select([t0, t1] or null), apply(t0, t1)}
	constructor(box, on) {
		this.on = on;
		this.at = null;      // where the cursor is
		this.anchor = null;  // where a selection began
		box.addEventListener("keydown", (e) => {
			if (!e.ctrlKey && !e.metaKey && !e.altKey && this.press(e.key, e.shiftKey)) {
				e.preventDefault();
				e.stopPropagation();
			}
		});
		box.addEventListener("blur", () => this.clear());
	}

	// Returns whether that key means something here.
	press(key, shift) {
		const [from, to] = this.on.span();
		if (key in MOVES) {
			const was = Math.min(Math.max(this.at ?? to, from), to);
			if (!shift)
				this.anchor = null;
			else
				this.anchor ??= was;
			this.at = Math.min(Math.max(was + MOVES[key] * (to - from) / STEPS, from), to);
			this.show();
			return true;
		}
		if (key === "Enter" && this.part) {
			const [t0, t1] = this.part;
			this.clear();
			this.on.apply(t0, t1);
			return true;
		}
		if (key === "Escape" && this.at !== null) {
			this.clear();
			return true;
		}
		return false;
	}

	// The selected part, or null
	get part() {
		return this.anchor === null || this.anchor === this.at ? null : [Math.min(this.anchor, this.at), Math.max(this.anchor, this.at)];
	}

	// Again, after the plot was drawn anew
	show() {
		if (this.at === null)
			return;
		this.on.cursor(this.at);
		this.on.select(this.part);
	}

	clear() {
		if (this.at === null)
			return;
		this.at = this.anchor = null;
		this.on.cursor(null);
		this.on.select(null);
	}
}
