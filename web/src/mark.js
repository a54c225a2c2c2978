// SPDX-License-Identifier: GPL-2.0-or-later
// mark.js - this tab's mark: every row's bytes at a moment. It is the tab's own:
// others don't see it, a server that is read-only has nothing to do with it, and
// it is still there when the page is loaded again.

const KEY = "mwrap-mark";

export class Mark {
	constructor(rows, store = globalThis.sessionStorage) {
		this.rows = rows;
		this.store = store;
	}

	// When it was set, in uptime, or null
	get t() {
		return this.rows.marked?.t ?? null;
	}

	set(start) {
		this.rows.setMark(this.rows.moment());
		const { t, base } = this.rows.marked;
		this.keep(JSON.stringify({ start, t, base: [...base].flat() }));
	}

	clear() {
		this.rows.setMark(null);
		this.keep(null);
	}

	// That of this process, if the tab was loaded again. Before the rows come.
	recall(start) {
		if (this.t !== null)
			return;
		try {
			const kept = JSON.parse(this.store.getItem(KEY));
			if (kept?.start !== start)
				return;
			const base = new Map();
			for (let i = 0; i < kept.base.length; i += 2)
				base.set(kept.base[i], kept.base[i + 1]);
			this.rows.setMark({ t: kept.t, base });
		} catch {
			// a store that is forbidden, or somebody else's text: there is no mark then
		}
	}

	keep(text) {
		try {
			if (text === null)
				this.store.removeItem(KEY);
			else
				this.store.setItem(KEY, text);
		} catch {
			// full or forbidden: the mark goes with the page
		}
	}
}
