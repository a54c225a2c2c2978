// SPDX-License-Identifier: GPL-2.0-or-later
// page.js - page.rb runs this in the page, before the page's own script: it
// watches, and touches nothing of the page's.
//
// A frame's end is when the first task after it runs: the message is posted
// before the frame's style, layout and paint, which nothing comes between.
(() => {
	const bench = (window.bench = { keys: [], events: [], frames: [], firstRow: null, allRows: null, wanted: Infinity });

	const afterFrame = (done) => requestAnimationFrame(() => {
		const { port1, port2 } = new MessageChannel();
		port1.onmessage = () => done(performance.now());
		port2.postMessage(0);
	});

	// before the page's own listeners
	addEventListener("input", (event) => {
		if (event.isTrusted)
			afterFrame((now) => bench.keys.push(now - event.timeStamp));
	}, { capture: true });

	new PerformanceObserver((list) => {
		for (const entry of list.getEntries())
			if (entry.name === "input")
				bench.events.push(entry.duration);
	}).observe({ type: "event", durationThreshold: 16 });

	// When the live table had its first row on the screen, and when it knew all of them
	const look = () => {
		const table = document.querySelector("table.locations");
		if (table?.querySelector("tr[role=row]"))
			bench.firstRow ??= performance.now();
		if (Number(table?.getAttribute("aria-rowcount")) > bench.wanted)
			bench.allRows ??= performance.now();
		if (bench.allRows === null && performance.now() < 30000)
			afterFrame(look);
	};
	afterFrame(look);

	// Scrolls through everything in some seconds, and says how long each frame took.
	bench.scroll = async (seconds) => {
		const grid = document.querySelector(".grid"), times = [];
		const all = grid.scrollHeight - grid.clientHeight, begin = performance.now();
		for (let last = begin; last - begin < seconds * 1000;) {
			grid.scrollTop = all * (last - begin) / (seconds * 1000);
			const now = await new Promise(requestAnimationFrame);
			times.push(now - last);
			last = now;
		}
		return times.slice(1);
	};

	// The same while something else scrolls
	bench.watchFrames = () => {
		let last = null;
		bench.frames = [];
		const frame = (now) => {
			if (last !== null)
				bench.frames.push(now - last);
			last = now;
			if (!bench.enough)
				requestAnimationFrame(frame);
		};
		bench.enough = false;
		requestAnimationFrame(frame);
	};
})();
