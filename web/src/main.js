// SPDX-License-Identifier: GPL-2.0-or-later
// main.js - starts the page, where the server's own page is there to be taken
// over, and is painted: until then nothing else is loaded. The other files are
// one: app.js, for the pages of several processes cluster.js, for /flame flame.js, for /map
// map.js, for /at at.js; build.mjs names them with their versions.

const LONG = 500; // ms to wait for the server's page at most

function painted() {
	return new Promise((done) => {
		if (document.hidden || !globalThis.PerformanceObserver?.supportedEntryTypes?.includes("paint"))
			return done();
		setTimeout(done, LONG);
		new PerformanceObserver((list) => {
			if (list.getEntriesByName("first-contentful-paint").length)
				done();
		}).observe({ type: "paint", buffered: true });
	});
}

const { base, page } = document.documentElement.dataset;
if (document.querySelector("main") && base !== undefined && page === "home")
	painted().then(() => import(APP)).then(({ App }) => new App().start());
else if (document.querySelector("main .flame-plain") && base !== undefined && page === "flame")
	painted().then(() => import(FLAME)).then(({ start }) => start());
else if (document.querySelector("main .memory-plain") && base !== undefined && page === "map")
	painted().then(() => import(MAP)).then(({ start }) => start());
else if (document.querySelector("main .holders") && base !== undefined && page === "at")
	painted().then(() => import(AT)).then(({ start }) => start());
else if (document.querySelector("main") && base !== undefined && (page === "family" || page === "all"))
	painted().then(() => import(CLUSTER)).then(({ start }) => start(page));
