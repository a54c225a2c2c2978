// SPDX-License-Identifier: GPL-2.0-or-later
// memory_alone.js - the memory map in a file of its own: its data is in the page, as JSON in #map and bytes in #cells, and
// nothing is asked for. build.mjs makes dist/map_alone.html of it.

import { Memory } from "./memory_app.js";
import { EmbeddedSource } from "./memory_embedded.js";

const text = (id) => document.getElementById(id).textContent;
const memory = new Memory({ source: new EmbeddedSource(text("map"), text("cells")), links: null, trims: false });
memory.read().then((there) => document.querySelector("main").append(there ? memory.root : memory.trouble));
