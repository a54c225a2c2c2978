// SPDX-License-Identifier: GPL-2.0-or-later
// trend.js - a row's cell with its small curve (spark.js).

import { el, setAttr, svg } from "./dom.js";
import { bytes } from "./format.js";
import { direction, paths, HEIGHT, WIDTH } from "./spark.js";

export const trendCell = () => el("td", { class: "trend" }, svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
	svg("path", { class: "area" }), svg("path", { class: "curve" })));

// values: live bytes, evenly spaced; NaN: not known
export function drawTrend(cell, values) {
	const drawn = paths(values), picture = cell.firstChild, way = direction(values);
	setAttr(picture.children[0], "d", drawn?.area);
	setAttr(picture.children[1], "d", drawn?.line);
	setAttr(cell, "data-way", way > 0 ? "up" : way < 0 ? "down" : "flat");
	const first = values.find((v) => v === v);
	setAttr(picture, "aria-label", way ? `${way > 0 ? "up" : "down"} from ${bytes(first)} to ${bytes(values[values.length - 1])}` : drawn ? "flat" : "not known");
}
