// SPDX-License-Identifier: GPL-2.0-or-later
// links.js - a location to take away: the page's address, the path and line, and the
// line in an editor, by a template that this browser keeps.

import { el, setText } from "./dom.js";

const KEY = "mwrap.editor";
export const USUAL = "vscode://file/{path}:{line}";

// [path, line] of a Ruby location, else null
export function pathAndLine(location) {
	const m = /^(\/.*):(\d+)$/s.exec(location);
	return m && [m[1], m[2]];
}

// The template filled, or null if it can't be one: an address of another scheme than a
// page's or a script's, with {path} in it.
export function editorLink(template, location) {
	const place = pathAndLine(location);
	const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(template.trim())?.[1].toLowerCase();
	if (!place || !scheme || ["javascript", "data", "blob", "file", "about", "vbscript", "view-source", "filesystem"].includes(scheme) || !template.includes("{path}"))
		return null;
	const path = place[0].split("/").map(encodeURIComponent).join("/");
	// a path begins with a slash: the one before it is left out, but not of "file://"
	return template.trim().replace(/([^/])\/(?=\{path\})/g, "$1").replaceAll("{path}", path).replaceAll("{line}", place[1]);
}

const kept = () => {
	try {
		return localStorage.getItem(KEY) || "";
	} catch {
		return ""; // the browser keeps nothing
	}
};

function keep(template) {
	try {
		localStorage.setItem(KEY, template);
	} catch {
		// then it holds for this page
	}
}

// navigator.clipboard exists only where the page is from this machine or by https.
async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = el("textarea", { class: "unseen", readonly: true });
		area.value = text;
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}

// The line of buttons of a location's page
export function placeLinks(location) {
	const said = el("span", { class: "dim", role: "status" });
	const button = (label, text) => el("button", { type: "button", onclick: async (e) => {
		const done = await copy(text());
		e.target.focus();
		setText(said, done ? "Copied." : `Not copied; it is: ${text()}`);
	} }, label);
	const place = pathAndLine(location);
	const root = el("div", { class: "place-links", role: "group", "aria-label": "This location" }, button("Copy link", () => globalThis.location.href),
		button(place ? "Copy path:line" : "Copy location", () => location));
	if (!place) {
		root.append(said);
		return root;
	}

	let template = kept() || USUAL;
	const link = el("a", { class: "button open-editor" }, "Open in editor");
	const input = el("input", { type: "text", "aria-label": "Address of the editor, with {path} and {line}", size: 34, spellcheck: "false", autocomplete: "off" });
	const form = el("form", { class: "editor", hidden: true }, input, el("button", {}, "Keep"));
	const change = el("button", { type: "button", "aria-expanded": "false", onclick: () => {
		form.hidden = !form.hidden;
		change.setAttribute("aria-expanded", String(!form.hidden));
		input.value = template;
		if (!form.hidden)
			input.focus();
	} }, "Editor\u2026");
	form.addEventListener("submit", (e) => {
		e.preventDefault();
		if (!editorLink(input.value, location)) {
			setText(said, `The editor\u2019s address must be like ${USUAL}.`);
			return;
		}
		template = input.value.trim();
		keep(template);
		link.href = editorLink(template, location);
		form.hidden = true;
		change.setAttribute("aria-expanded", "false");
		change.focus();
		setText(said, "Kept in this browser.");
	});
	link.href = editorLink(template, location) || editorLink(USUAL, location);
	root.append(link, change, form, said);
	return root;
}
