// SPDX-License-Identifier: GPL-2.0-or-later
// address.js - the page's address: a location's path, and the rest of the view as the fragment (state.js).

import { placeOf, placePath } from "./server.js";
import { formatState, parseState } from "./state.js";

const LATER = 200; // ms: browsers count what is written, so not at every keystroke

export class Address {
	constructor() {
		this.places = new Map(); // path -> location, where the path is a short id
		if (/^~|^$/.test(placeOf(location.pathname) ?? ""))
			this.places.set(location.pathname, document.querySelector("main > h1.location")?.textContent);
	}

	// The view that it names. That of an older link, with #at=, is written as it is now.
	read() {
		clearTimeout(this.later);
		const state = parseState(location.hash, placeOf(location.pathname, this.places));
		if (/[#&]at=/.test(location.hash))
			this.put("replaceState", state);
		return state;
	}

	// replace: the last view isn't one to come back to
	write(state, replace) {
		clearTimeout(this.later);
		if (replace)
			this.later = setTimeout(() => this.put("replaceState", state), LATER);
		else
			this.put("pushState", state);
	}

	put(how, state) {
		history[how](null, "", placePath(state.at) + formatState(state));
		if (state.at !== null)
			this.places.set(location.pathname, state.at);
	}
}
