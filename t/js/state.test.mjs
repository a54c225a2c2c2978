// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { parseState, formatState, usual, span, asked } from "../../web/src/state.js";
import { shown, COLUMNS } from "../../web/src/columns.js";

test("the usual view has no fragment", () => {
	assert.equal(formatState(usual()), "");
	assert.deepEqual(parseState(""), usual());
	assert.deepEqual(parseState("#"), usual());
});

test("every view survives the URL", () => {
	const views = [
		{ q: "gem:rack \"a b\" é&=#%", group: "gem" },
		{ sort: "live", desc: false },
		{ sort: "location", desc: true, range: "6h" },
		{ columns: ["growth", "trend"] },
		{ columns: [] },
		{ from: 100, to: 250, range: "1h" },
		{ from: 250, to: 100 }, // impossible: the page says so
		{ range: "all" },
		{ range: "15m" }, // chosen: the sentence is about it
		{ view: "map", zoom: ["rack-3.1", "/g/gems/rack-3.1/lib/ra ck.rb"] },
		{ at: "/srv/<b>\"'&\n\ufffd.rb:1", range: "6h" },
	];
	for (const change of views) {
		const state = { ...usual(), ...change };
		assert.deepEqual(parseState(formatState(state), state.at), state, formatState(state));
	}
});

test("a location is the path; a fragment of older links names it, too", () => {
	assert.equal(formatState({ ...usual(), at: "/srv/app.rb:1" }), "");
	assert.equal(parseState("#at=%2Fsrv%2Fb.rb%3A2", "/srv/app.rb:1").at, "/srv/b.rb:2");
	assert.equal(parseState("#range=1h").at, null);
});

test("what can't be understood is left out", () => {
	for (const hash of ["#sort=nonsense", "#range=7y", "#group=x", "#view=3d", "#time=a-b", "#time=9", "#time=1-2-3", "#sort=mark", "#order=desc", "#%", "#range=constructor"])
		assert.deepEqual(parseState(hash), usual(), hash);
	assert.deepEqual(parseState("#columns=growth+x+trend").columns, ["growth", "trend"]);
});

test("the location's column is always there", () => {
	const ids = (...a) => shown(...a).map((c) => c.id);
	assert.ok(ids(null).includes("growth") && !ids(null).includes("total"));
	assert.deepEqual(ids([]), ["location"]);
	assert.deepEqual(ids(["total"]), ["total", "location"]);
	for (const c of COLUMNS)
		assert.ok(c.about.length > 20, c.id);
});

test("the times shown, and the same as a question", () => {
	assert.deepEqual([span(usual(), 5000), asked(usual())], [[4100, 5000], ""]);
	assert.deepEqual([span({ ...usual(), range: "1h" }, 5000), asked({ ...usual(), range: "1h" })], [[1400, 5000], "range=1h"]);
	assert.deepEqual([span({ ...usual(), range: "all" }, 5e6), asked({ ...usual(), range: "all" })], [[0, 5e6], "range=all"]);
	const part = { ...usual(), range: "1h", from: 100, to: 250 };
	assert.deepEqual([span(part, 5000), asked(part)], [[100, 250], "from=100&to=250"]);
	assert.deepEqual(span({ ...part, to: 50 }, 5000), [100, 101], "never an axis without width");
	assert.deepEqual(span(usual(), 3), [0, 3]);
});
