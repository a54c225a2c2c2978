// SPDX-License-Identifier: GPL-2.0-or-later
// menu.js - a list behind one word, which Escape and a press elsewhere close.

import { el } from "./dom.js";

// summary: an element of that name. inside: what it hides.
export function menu(kind, summary, ...inside) {
	const root = el("details", { class: `menu ${kind}` }, summary, inside);
	addEventListener("keydown", (e) => {
		if (e.key !== "Escape" || !root.open)
			return;
		e.stopImmediatePropagation(); // it is a step back for the page, too
		root.open = false;
		summary.focus();
	}, true);
	addEventListener("pointerdown", (e) => {
		if (!root.contains(e.target))
			root.open = false;
	});
	return root;
}
