// SPDX-License-Identifier: GPL-2.0-or-later
// Columns for which there is room; links to take away.
import test from "node:test";
import assert from "node:assert/strict";
import { fit } from "../../web/src/fit.js";
import { COLUMNS } from "../../web/src/columns.js";
import { editorLink, pathAndLine, USUAL } from "../../web/src/links.js";
import { exportQuery } from "../../web/src/toolbar.js";
import { usual } from "../../web/src/state.js";

const all = COLUMNS.filter((c) => c.on && c.id !== "mark");
const ids = (sorted, width) => fit(all, sorted, width).map((c) => c.id);

test("columns go by width, the location and what is sorted by never", () => {
	assert.equal(ids("growth", 1600).length, all.length);
	for (let before = all.length, width = 1600; width >= 200; width -= 10) {
		const left = ids("mean_life", width);
		assert.ok(left.includes("location") && left.includes("mean_life"), width);
		assert.ok(left.length <= before || width >= 620, `${width}: ${left}`); // a narrow table has smaller columns
		before = left.length;
	}
	assert.deepEqual(ids("location", 200), ["location"]);
	assert.deepEqual(ids("trend", 390), ["growth", "trend", "location"], "what the usual order rests on, on a phone");
	const order = all.map((c) => c.id);
	assert.deepEqual(ids("growth", 768), order.filter((id) => ids("growth", 768).includes(id)), "their order stays");
});

test("a place in an editor", () => {
	const at = "/srv/a b/\u00e4%#?.rb:12";
	assert.deepEqual(pathAndLine(at), ["/srv/a b/\u00e4%#?.rb", "12"]);
	assert.equal(editorLink(USUAL, at), "vscode://file/srv/a%20b/%C3%A4%25%23%3F.rb:12");
	assert.equal(editorLink(" idea://open?file={path}&line={line} ", "/a.rb:1"), "idea://open?file=/a.rb&line=1");
	for (const wrong of ["", "{path}", "vscode://file", "javascript:x({path})", "JavaScript:x({path})", "data:text/html,{path}", "java\nscript:{path}", "//host/{path}"])
		assert.equal(editorLink(wrong, "/a.rb:1"), null, wrong);
	for (const location of ["(other)", "/x.so(f+0x1)", "<internal:gc>:3", "a.rb:3"])
		assert.equal(editorLink(USUAL, location), null, location);
});

test("rows to take away", () => {
	assert.equal(exportQuery(usual()), "sort=growth");
	assert.equal(exportQuery({ ...usual(), sort: "live", desc: false, group: "gem", q: "a&b" }), "sort=live&order=asc&group=gem&q=a%26b");
	assert.equal(exportQuery({ ...usual(), sort: "trend", desc: true }), "sort=growth", "the server has no such column");
	for (const q of ["two words", "-not", "gem:rack", '"a b"'])
		assert.equal(exportQuery({ ...usual(), q }), "sort=growth", q);
});
