// SPDX-License-Identifier: GPL-2.0-or-later
// flame.js - starts the flame graph at /flame, in the place of the server's plain tree. If it cannot
// be shown, that stays.

import { el } from "./dom.js";
import { base, encodeLocation, getJSON } from "./server.js";
import { pageKeys } from "./keys.js";
import { Flame } from "./flame_app.js";
import { formatQuery } from "./flame_state.js";

// The style that no other page needs; build.mjs names it with its version.
const style = () => new Promise((done) => {
	document.head.append(el("link", { rel: "stylesheet", href: new URL(FLAME_CSS, import.meta.url).href, onload: done, onerror: done }));
});

export async function start() {
	pageKeys();
	const plain = document.querySelector("main .flame-plain");
	const flame = new Flame({
		load: (query) => getJSON(`/flame.json${formatQuery(query)}`),
		links: { at: (location) => `${base()}/at/${encodeLocation(location)}` },
	});
	const [there] = await Promise.all([flame.read(), style()]);
	if (there)
		plain.replaceWith(flame.root);
	else
		plain.before(flame.trouble);
}
