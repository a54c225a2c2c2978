// SPDX-License-Identifier: GPL-2.0-or-later
// dom.js - making elements. Whatever text comes from the process gets in as a
// text node: no function here takes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith("on"))
			node.addEventListener(name.slice(2), value);
		else
			node.setAttribute(name, value === true ? "" : value);
	}
	for (const child of children.flat())
		if (child !== null && child !== undefined && child !== false)
			node.append(child);
	return node;
}

// el("td", {class: "num"}, "12", el("span")): strings become text nodes.
export const el = (name, attributes, ...children) =>
	fill(document.createElement(name), attributes, children);

export const svg = (name, attributes, ...children) =>
	fill(document.createElementNS(SVG, name), attributes, children);

// Sets text only when it differs: the DOM isn't touched for what stays as it is.
export function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

export function setAttr(node, name, value) {
	if (value === null || value === undefined)
		node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value))
		node.setAttribute(name, value);
}

// A number and its unit, the unit in a lighter tone: parts is [number, unit].
export function setAmount(node, parts) {
	if (!node.firstChild)
		node.append("", el("span", { class: "unit" }));
	const [number, unit] = parts;
	if (node.firstChild.data !== number)
		node.firstChild.data = number;
	setText(node.lastChild, unit ? `\u00a0${unit}` : "");
}

const motion = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");
export const still = () => Boolean(motion?.matches);

// A number that moved: its background fades for half a second.
export function flash(node) {
	if (still() || !node.animate)
		return;
	node.animate([{ backgroundColor: "var(--moved)" }, { backgroundColor: "transparent" }], 500);
}
