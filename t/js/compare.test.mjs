// SPDX-License-Identifier: GPL-2.0-or-later
// Names of marks: what the server takes, and what the plot shows of them; addresses of differences.
import test from "node:test";
import assert from "node:assert/strict";
import { diffLink, markPath, named } from "../../web/src/compare.js";

globalThis.document = { documentElement: { dataset: { base: "/m" } }, querySelector: () => null };

test("a name that the server takes, or none", () => {
	assert.equal(markPath("deploy-17"), "/mark?name=deploy-17");
	assert.equal(markPath("a&b=\u00fc#%20"), "/mark?name=a%26b%3D%C3%BC%23%2520");
	assert.equal(markPath("n".repeat(80)), `/mark?name=${"n".repeat(80)}`);
	assert.ok(markPath("17th") && markPath("nows") && markPath("v1.2.x"));
	for (const bad of ["", "n".repeat(81), "\u00fc".repeat(41), "now", "start", "17", "1.5", "."])
		assert.equal(markPath(bad), false, bad);
});

test("what a line on the plot is called", () => {
	assert.deepEqual(named({ kind: "mark", text: "deploy-17" }), { label: "deploy-17", kind: "mark" });
	assert.deepEqual(named({ kind: "mark", text: "" }), { label: "mark", kind: "mark" });
	assert.deepEqual(named({ kind: "annotation", text: "a\u0007b" }).label.includes("\u0007"), false);
	assert.deepEqual(named({ kind: "own", text: "" }), { label: "my mark", kind: "mark of this tab" });
	assert.deepEqual(named({ kind: "reset", text: "x" }).label, "reset");
});

test("the address of a difference", () => {
	assert.equal(diffLink({ from: 12, to: 34.5 }), "/m/diff?from=12&to=34.5");
	assert.equal(diffLink({ from: 12 }), "/m/diff?from=12");
});
