// SPDX-License-Identifier: GPL-2.0-or-later
// memory.js - starts the memory map at /map, in the place of the server's plain tables. If it can't be shown,
// these stay.

import { el } from "./dom.js";
import { base, encodeLocation } from "./server.js";
import { pageKeys } from "./keys.js";
import { Memory } from "./memory_app.js";
import { ServerSource } from "./memory_source.js";

// The style that no other page needs; build.mjs names it with its version.
const style = () => new Promise((done) => {
	document.head.append(el("link", { rel: "stylesheet", href: new URL(MAP_CSS, import.meta.url).href, onload: done, onerror: done }));
});

export async function start() {
	pageKeys();
	const plain = document.querySelector("main .memory-plain");
	// the server offers a trim to those who may
	const memory = new Memory({ source: new ServerSource(), links: { at: (location) => `${base()}/at/${encodeLocation(location)}` }, trims: Boolean(plain.querySelector("form")) });
	const [there] = await Promise.all([memory.read(), style()]);
	if (there)
		plain.replaceWith(memory.root);
	else
		plain.before(memory.trouble);
}
