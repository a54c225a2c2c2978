// SPDX-License-Identifier: GPL-2.0-or-later
// Recording for replay: what is asked of the server, and what is said.
import test from "node:test";
import assert from "node:assert/strict";
import { CHOICES, DEFAULTS, recordWords, startPath } from "../../web/src/record_words.js";

const plain = (state) => recordWords(state).replace(/\u00a0/g, " ");
const STATE = { recording: true, path: "/srv/a.mwtrace", seconds: 75.5, events: 1_300_000, lost: 0, bytes: 3 << 20, why: "" };

test("what is asked for has only what was given", () => {
	assert.equal(startPath(DEFAULTS).path, "/trace/start?seconds=600&max=2g&full=wait&clock=coarse");
	assert.equal(startPath({ seconds: "", max: "", full: "drop", clock: "fine" }).path, "/trace/start?full=drop&clock=fine");
	assert.equal(startPath({ ...DEFAULTS, seconds: "007", max: "500M" }).path, "/trace/start?seconds=7&max=500m&full=wait&clock=coarse");
});

test("what the server would refuse isn't asked for", () => {
	for (const seconds of ["0", "-1", "1.5", "1e3", "x", "1234567890"])
		assert.match(startPath({ ...DEFAULTS, seconds }).wrong ?? "", /seconds/, seconds);
	for (const max of ["0", "1.5g", "g", "10 m", "1x", "5&full=drop"])
		assert.match(startPath({ ...DEFAULTS, max }).wrong ?? "", /size/, max);
});

test("each choice has its default", () => {
	for (const [name, values] of Object.entries(CHOICES))
		assert.ok(DEFAULTS[name] in values, name);
});

test("what is recorded, and what was", () => {
	assert.equal(plain(STATE), "Recording to /srv/a.mwtrace: 1.30 M events in 1 m 15 s, 3.00 MB.");
	assert.equal(plain({ ...STATE, lost: 1234 }), "Recording to /srv/a.mwtrace: 1.30 M events in 1 m 15 s, 3.00 MB. 1,234 events are lost: the disk was too slow.");
	assert.equal(plain({ ...STATE, recording: false, why: "the disk is full" }), "Recorded to /srv/a.mwtrace: 1.30 M events in 1 m 15 s, 3.00 MB. It ended: the disk is full.");
	assert.equal(plain({ recording: false, path: "" }), "");
	assert.equal(plain({ recording: false, path: null }), "");
	assert.match(plain({ ...STATE, path: "/a\u202e\n" }), /^Recording to \/a\u27e8202E\u27e9\\n: /);
});
