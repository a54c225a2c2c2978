// SPDX-License-Identifier: GPL-2.0-or-later
// report_written.js - the flame graph below a report that a process wrote by itself (server/reports/page.c): the tree is
// in the page, as JSON in #tree; null: the process kept no stacks. build.mjs makes dist/report_written.html of it.

import { Flame } from "./flame_app.js";

const tree = JSON.parse(document.getElementById("tree").textContent);
const flame = new Flame({ load: async () => tree, links: null });
if (tree)
	flame.read().then((there) => document.querySelector("main").append(there ? flame.root : flame.trouble));
