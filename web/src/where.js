// SPDX-License-Identifier: GPL-2.0-or-later
// where.js - a location as text that may be broken behind slashes only, with the
// file and the line strong.

import { el } from "./dom.js";
import { visible } from "./format.js";
import { pieces } from "./place.js";
import { fileEnd } from "./fleet.js";

const broken = (text) => visible(text).split(/(?<=\/)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

export function where(location, href) {
	const [far, near, strong] = pieces(location, fileEnd(location));
	const inner = [el("span", { class: "far" }, broken(far)), el("span", { class: "near" }, broken(near)), el("b", {}, broken(strong))];
	return href ? el("a", { href }, inner) : el("span", {}, inner);
}
