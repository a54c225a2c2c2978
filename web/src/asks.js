// SPDX-License-Identifier: GPL-2.0-or-later
// asks.js - the page's requests beside the stream, each again and again
// while somebody looks: the sentence, the locations' curves, the process's
// history. Behind a hidden tab there is a title only: one question a minute.

import { getOwn } from "./server.js";

const LOOK = 1000;
const HIDDEN = 60000;
const REFUSED = 60000; // after an answer that is an error: it will be the same for a while
const POLLED_TIMES = 3;

// path(key): the address; again(): ms after which it is asked again
const KINDS = {
	verdict: { path: (key) => `/verdict.json${key && `?${key}`}`, again: 5000 },
	curves: { path: (key) => `/history/locations.json?${key || "range=15m"}&points=48`, again: 30000 },
	kinds: { path: () => "/kinds.json", again: 10000 },
	history: { path: (key) => `/history.json?${key || "range=15m"}&points=300`, again: 120000 },
	// once the first picture is there: if the process ends, other times can be looked at
	whole: { path: () => "/history.json?range=all&points=300", again: 600000, after: 10000 },
};

export class Asks {
	// on: {start() the process's, or null; key(kind) what is shown: a query; looking() should it be asked now;
	//	verdict(json, key), curves(json, key), kinds(json, key), history(json, key), whole(json), refused(kind, error)}
	constructor(on) {
		this.on = on;
		this.kinds = {};
		for (const [kind, { after }] of Object.entries(KINDS))
			this.kinds[kind] = { due: after ? performance.now() + after : -Infinity, key: undefined, flight: 0 };
	}

	begin() {
		setInterval(() => this.look(), LOOK);
		this.look();
	}

	// At once, whenever it was asked last
	again(...kinds) {
		for (const kind of kinds)
			this.kinds[kind].due = -Infinity;
		this.look();
	}

	look() {
		const now = performance.now();
		for (const [kind, state] of Object.entries(this.kinds)) {
			if (document.hidden ? kind !== "verdict" : !this.on.looking())
				continue;
			const key = this.on.key(kind);
			if (key !== null && state.busy !== key && (now >= state.due || (key !== state.key && !KINDS[kind].after && !document.hidden)))
				this.ask(kind, key);
		}
	}

	async ask(kind, key) {
		const state = this.kinds[kind], turn = ++state.flight;
		const again = document.hidden ? HIDDEN : KINDS[kind].again;
		state.due = performance.now() + again;
		state.key = state.busy = key;
		try {
			const json = await getOwn(KINDS[kind].path(key), this.on.start, POLLED_TIMES);
			if (turn === state.flight && json)
				this.on[kind](json, key);
		} catch (e) {
			if (turn !== state.flight)
				return;
			if (e.status)
				state.due = performance.now() + Math.max(REFUSED, again);
			this.on.refused(kind, e);
		} finally {
			if (turn === state.flight)
				state.busy = undefined;
		}
	}
}
