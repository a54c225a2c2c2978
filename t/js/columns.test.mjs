// SPDX-License-Identifier: GPL-2.0-or-later
// The page's columns and the server's.
import test from "node:test";
import assert from "node:assert/strict";
import { COLUMNS, column, shown } from "../../web/src/columns.js";
import { Rows } from "../../web/src/rows.js";
import { tsv } from "../../web/src/save.js";
import { EVERY, serverAbout } from "../../web/src/server_columns.js";
import { parseState } from "../../web/src/state.js";
import { exportQuery } from "../../web/src/toolbar.js";

test("a column that only the server knows is saved as empty, and offered nowhere", () => {
	const rows = new Rows();
	rows.apply({ t: 9, all: true, more: false, gone: [], rows: [[4, 900, 3, 2, 800, 500, 1, 7, 5, 0, "/a.rb:1", 9, "ruby"]] });
	rows.measure({ kind: "start" });
	assert.equal(tsv(rows, [0], ["live", "unknown", "location"]), "live\tunknown\tlocation\n1\t\t/a.rb:1\n");
	for (const name of [...EVERY.filter((name) => !column(name)), "unknown"]) {
		assert.deepEqual([shown(null, true), shown([name], true)].flat().filter((c) => c.id === name), []);
		const state = parseState(`#sort=${name}&columns=${name}+growth`);
		assert.deepEqual([state.sort, state.columns, exportQuery(state)], [null, ["growth"], "sort=growth"]);
	}
});

test("what a column says is the server's word for it", () => {
	for (const c of COLUMNS)
		if (serverAbout(c.id) && c.id !== "growth") // it is shown since another moment, too
			assert.equal(c.about, serverAbout(c.id));
	assert.deepEqual(COLUMNS.filter((c) => !serverAbout(c.id)).map((c) => c.id), ["rate", "trend"]);
});
