// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { parseState, formatState, usual } from "../../web/src/state.js";
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
		{ view: "map", zoom: ["rack-3.1", "/g/gems/rack-3.1/lib/ra ck.rb"] },
		{ at: "/srv/<b>\"'&\n\ufffd.rb:1" },
	];
	for (const change of views) {
		const state = { ...usual(), ...change };
		assert.deepEqual(parseState(formatState(state)), state, formatState(state));
	}
});

test("what can't be understood is left out", () => {
	for (const hash of ["#sort=nonsense", "#range=7y", "#group=x", "#view=3d", "#time=9-3", "#time=a-b", "#order=desc", "#%", "#range=constructor"])
		assert.deepEqual(parseState(hash), usual(), hash);
	assert.deepEqual(parseState("#columns=growth+x+trend").columns, ["growth", "trend"]);
});

test("the mark's column is there only with a mark; the location's always", () => {
	const ids = (...a) => shown(...a).map((c) => c.id);
	assert.ok(!ids(null, false).includes("mark"));
	assert.ok(ids(null, true).includes("mark"));
	assert.deepEqual(ids([], true), ["location"]);
	assert.ok(!ids(["mark"], false).includes("mark"));
	for (const c of COLUMNS)
		assert.ok(c.about.length > 20, c.id);
});
