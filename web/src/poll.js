// SPDX-License-Identifier: GPL-2.0-or-later
// poll.js - asks again and again while the page can be seen. An answer that takes
// long makes the next question come later: looking costs a twentieth at most.

export const mount = () => document.documentElement.dataset.mount ?? document.documentElement.dataset.base ?? "";

const PART = 20;

// The pause after an answer that took `took` ms
export const pause = (every, took) => Math.max(every, took * PART);

export async function fetchJSON(url) {
	const response = await fetch(url, { credentials: "same-origin", cache: "no-store", headers: { Accept: "application/json" } });
	if (response.ok)
		return response.json();
	const text = (await response.text()).trim().split("\n")[0];
	throw Object.assign(new Error(text || `${response.status} ${response.statusText}`), { status: response.status });
}

export class Poll {
	// ask(): a promise; on: {data(answer), lost(error)}; every: ms
	constructor(ask, every, on) {
		Object.assign(this, { question: ask, every, on, timer: 0, turn: 0 });
		document.addEventListener("visibilitychange", () => {
			if (!document.hidden && this.late)
				this.now();
		});
	}

	// At once: an earlier question's answer is of no interest any more.
	async now() {
		const turn = ++this.turn, from = performance.now();
		clearTimeout(this.timer);
		this.late = false;
		try {
			const answer = await this.question();
			if (turn === this.turn)
				this.on.data(answer);
		} catch (e) {
			if (turn === this.turn)
				this.on.lost(e);
		}
		if (turn !== this.turn)
			return;
		this.timer = setTimeout(() => {
			if (document.hidden)
				this.late = true;
			else
				this.now();
		}, pause(this.every, performance.now() - from));
	}

	stop() {
		this.turn++;
		this.late = false;
		clearTimeout(this.timer);
	}
}
