// SPDX-License-Identifier: GPL-2.0-or-later
// cluster.js - starts the live pages of several processes: /family and /all/.

import { Family } from "./family.js";
import { All } from "./all.js";
import { Switcher } from "./switcher.js";
import { pageKeys } from "./keys.js";

export function start(page) {
	new (page === "family" ? Family : All)().start();
	pageKeys();
	if (page === "all")
		new Switcher(() => null).attach(document.querySelector("header"));
}
