// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { bytes, bytesParts, count, about, small, duration, span, visible, sizeRange, countRange, clock } from "../../web/src/format.js";

const NB = "\u00a0";

test("bytes have three digits and a unit, by 1,024", () => {
	const cases = [[0, "0 B"], [1, "1 B"], [999, "999 B"], [1000, "0.98 KB"], [1024, "1.00 KB"], [10 * 1024, "10.0 KB"],
		[212 * 2 ** 20, "212 MB"], [999.6 * 2 ** 20, "0.98 GB"], [2 ** 40, "1.00 TB"], [-1536, "\u22121.50 KB"], [2 ** 60, "1024 PB"]];
	for (const [n, text] of cases)
		assert.equal(bytes(n), text.replace(" ", NB), String(n));
});

test("what isn't known is a dash", () => {
	assert.deepEqual(bytesParts(null), ["\u2013", ""]);
	assert.equal(count(undefined), "\u2013");
	assert.equal(small(NaN), "\u2013");
});

test("counts have commas, large ones a unit", () => {
	assert.equal(count(98112), "98,112");
	assert.equal(count(-1234), "\u22121,234");
	assert.equal(about(999999), "999,999");
	assert.equal(about(1.2e6), `1.20${NB}M`);
	assert.equal(about(3.4e9), `3.40${NB}G`);
});

test("small numbers keep what matters", () => {
	for (const [n, text] of [[0, "0"], [0.001, "0"], [0.03, "0.03"], [3.14, "3.1"], [140, "140"], [12345.6, "12,346"], [2, "2"]])
		assert.equal(small(n), text);
});

test("durations and spans", () => {
	assert.equal(duration(11520), "3 h 12 m");
	assert.equal(duration(65), "1 m 5 s");
	assert.equal(duration(90000), "1 d 1 h");
	assert.equal(span(1), "1 second");
	assert.equal(span(14 * 60), "14 minutes");
	assert.equal(span(7200), "2 hours");
	assert.equal(span(3 * 86400), "3 days");
	assert.match(clock(0, true), /^\d\d:\d\d:00$/);
});

test("what can't be seen is shown, and nothing else is changed", () => {
	assert.equal(visible("a\nb\tc\r\u0000\u007f"), "a\\nb\\tc\\r\u27e80000\u27e9\u27e8007F\u27e9");
	assert.equal(visible("x\u202egnp.rb"), "x\u27e8202E\u27e9gnp.rb");
	assert.equal(visible("\ufffd<b>&\"'é字"), "\ufffd<b>&\"'é字");
});

test("ranges of buckets", () => {
	assert.equal(sizeRange(2048, 4095), `2\u20134${NB}KB`);
	assert.equal(sizeRange(512, 1023), `512${NB}B\u20131${NB}KB`);
	assert.equal(sizeRange(1, 1), `1${NB}B`);
	assert.equal(countRange(4, 7), "4\u20137");
	assert.equal(countRange(0, 0), "0");
});
