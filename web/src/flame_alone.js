// SPDX-License-Identifier: GPL-2.0-or-later
// flame_alone.js - the same in a file of its own: the tree is in the page, as JSON in #tree,
// and nothing is asked for. build.mjs makes dist/flame_alone.html of it.

import { el } from "./dom.js";
import { Flame } from "./flame_app.js";

const flame = new Flame({ load: async () => JSON.parse(document.getElementById("tree").textContent), links: null });
const main = document.querySelector("main");
flame.read().then((there) => main.append(...(there ? [flame.root, keys()] : [flame.trouble])));

function keys() {
	const rows = [["↓ ↑ ← →", "Go to what a frame called, to its caller, to its neighbours"], ["Enter", "Zoom"], ["Esc", "One step back: the zoom, the search"], ["s", "All callers and callees of a frame"], ["0", "Zoom out to all"], ["/", "Search"], ["?", "These keys"]];
	const details = el("details", { class: "keys" }, el("summary", {}, "Keys"), el("table", {}, el("tbody", {}, rows.map(([key, what]) =>
		el("tr", {}, el("th", { scope: "row" }, key.split(" ").flatMap((k) => [el("kbd", {}, k), " "])), el("td", {}, what))))));
	addEventListener("keydown", (e) => {
		if (e.key !== "?" || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
			return;
		details.open = !details.open;
		details.firstChild.focus();
	});
	return details;
}
