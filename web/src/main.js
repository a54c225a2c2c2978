// SPDX-License-Identifier: GPL-2.0-or-later
// main.js - starts the page, where the server's own page is there to be taken over.

import { App } from "./app.js";

if (document.querySelector("main") && document.documentElement.dataset.base !== undefined)
	new App().start();
