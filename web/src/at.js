// SPDX-License-Identifier: GPL-2.0-or-later
// at.js - starts the page of one location: it is the server's, and can look up what holds the blocks.

import { Held } from "./held.js";
import { base } from "./server.js";

export function start() {
	const link = document.querySelector(".holders a");
	if (!link)
		return;
	const held = new Held();
	held.about(base(), new URL(link.href).search);
	link.closest(".holders").replaceWith(held.root);
}
