// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph's trees: reading, grouping, sums, searching, names. Counts are compared
// with the stacks of which the tree was made.
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stacks, flame, locationOf as lineOf } from "./flame_data.mjs";
import { readTree, mergeGroups, sumFrames, sumGroups, locationOf, frameOf, nodeName, findNode, describe, placeOf, frameHash } from "../../web/src/flame_tree.js";
import { findFrame, sandwich } from "../../web/src/flame_sandwich.js";
import { compile, search, covered } from "../../web/src/flame_search.js";
import { parseQuery, formatQuery, exportQuery, sinceName, parseView, formatView } from "../../web/src/flame_state.js";
import { hue, step, colourFrames, shadeNodes, shaded, withShades, HUES, NAMES, INDEX, SHADES } from "../../web/src/flame_colours.js";
import { amountWords, errorWords, percent, searchWords, spoken, summaryWords } from "../../web/src/flame_words.js";
import { topFrames } from "../../web/src/flame_table.js";

const LIST = stacks(1500);
const VIEWS = [{}, { by: "total" }, { by: "growth" }, { inverted: true }, { by: "growth", inverted: true }];
const tree = (view) => readTree(flame(LIST, view));
const sum = (list, of) => list.reduce((n, v) => n + of(v), 0);

const same = (at, frame) => at.name === frame[0] && at.file === frame[1] && at.line === frame[2] && at.group === frame[3];
// Of ["a b@gem c", bytes, samples]: names of frames, outermost first
const small = (list) => readTree(flame(list.map(([path, live, samples = 1]) => ({ live, total: live, growth: live, samples,
	frames: path.split(" ").map((s) => { const [name, group] = s.split("@"); return [name, `/${group || "g"}.rb`, 1, group || "g", 0]; }) }))));
const shape = (t) => Array.from({ length: t.n }, (_, i) => `${"-".repeat(t.depth[i])}${frameOf(t, i)?.name ?? "all"} ${t.value[i]}`);

test("parents, ends and own bytes follow from preorder and depth", () => {
	for (const view of VIEWS) {
		const t = tree(view);
		for (let i = 1; i < t.n; i++) {
			const p = t.parent[i];
			assert.ok(p < i && t.depth[p] === t.depth[i] - 1 && i < t.end[p] && t.end[i] <= t.end[p] && t.end[i] > i);
		}
		assert.equal(t.end[0], t.n);
		assert.equal(sum([...t.own], (v) => v), t.total, "own bytes add up to all");
	}
});

test("an answer that can't be drawn says so", () => {
	const good = flame(LIST.slice(0, 3));
	const bad = (change, why) => assert.throws(() => readTree({ ...good, ...change }), why);
	readTree(good);
	bad({ depth: undefined }, /no list depth/);
	bad({ value: good.value.slice(1) }, /differ in length/);
	bad({ frame: [], depth: [], value: [], samples_of: [] }, /differ in length/);
	bad({ depth: good.depth.map((d, i) => (i === 2 ? 9 : d)) }, /without a parent/);
	bad({ depth: good.depth.map((d, i) => (i === 2 ? 0 : d)) }, /without a parent/);
	bad({ frame: good.frame.map((f, i) => (i === 2 ? 1e6 : f)) }, /without a frame/);
	bad({ frames: good.frames.map(([name, file, line, , kind]) => [name, file, line, -1, kind]) }, /without a name or a group/);
	bad({ by: "age" }, /by is/);
});

test("a frame's bytes are those of the stacks that it is in, each once", () => {
	for (const view of VIEWS) {
		const t = tree(view), by = view.by || "live", sums = sumFrames(t);
		let repeated = 0;
		for (let f = 0; f < t.frames.length; f++) {
			const at = describe(t, f), inside = LIST.filter((s) => s.frames.some((frame) => same(at, frame)));
			repeated += inside.some((s) => s.frames.filter((frame) => same(at, frame)).length > 1);
			assert.equal(sums.total[f], sum(inside, (s) => s[by]), at.name);
			assert.equal(sums.samples[f], sum(inside, (s) => s.samples), at.name);
			assert.equal(sums.own[f], sum(LIST.filter((s) => same(at, s.frames.at(-1))), (s) => s[by]), at.name);
		}
		assert.ok(repeated > 3, "there are frames that call themselves");
		assert.equal(sum(sumGroups(t, sums.own), ([, bytes]) => bytes), t.total);
	}
	const t = small([["a b a", 5], ["a b", 2], ["c b", 1]]);
	const [a] = topFrames(t, 0, { id: "name", descending: false });
	assert.deepEqual([a.name, a.own, a.total], ["a", 5, 7]);
	assert.deepEqual(topFrames(t, 1, { id: "total", descending: true }).map((r) => [r.name, r.total]), [["a", 7], ["b", 7]], "below a node only");
});

test("neighbours of one group become one", () => {
	const t = small([["a@x b@x c@y d@x", 8], ["a@x c@y", 4], ["e@x c@y", 2], ["f@y g@x", 1]]);
	assert.deepEqual(shape(mergeGroups(t)), ["all 15", "-x 14", "--y 14", "---x 8", "-y 1", "--x 1"]);
	for (const view of VIEWS) {
		const whole = tree(view), m = mergeGroups(whole);
		assert.ok(m.n < whole.n / 2);
		assert.equal(m.value[0], whole.value[0]);
		assert.equal(sum([...m.own], (v) => v), whole.total);
		for (let i = 1; i < m.n; i++) {
			assert.notEqual(m.frame[i], m.frame[m.parent[i]]);
			assert.ok(m.below[i] <= m.width[i] + 1e-6, "no wider than what it is in");
		}
		// as many bytes by group as in the stacks
		const sums = sumFrames(m), by = view.by || "live";
		m.frames.forEach((_, f) => assert.equal(sums.total[f], sum(LIST.filter((s) => s.frames.some((frame) => frame[3] === m.names[f])), (s) => s[by]), m.names[f]));
	}
});

test("a search counts each stack once", () => {
	for (const view of VIEWS) {
		const t = tree(view), by = view.by || "live";
		for (const [q, has] of [["redcarpet", (s) => /redcarpet/i.test(s)], ["NOTES::HELPERS", (s) => /notes::helpers/i.test(s)], ["/^(block|GET) /", (s) => /^(block|get) /i.test(s)], ["app.rb:51", (s) => s.includes("app.rb:51")], ["nothing at all", () => false]]) {
			const found = search(t, q);
			const hits = (frame) => [frame[0], frame[2] ? `${frame[1]}:${frame[2]}` : frame[1], frame[3]].some(has);
			const inside = LIST.filter((s) => s.frames.some(hits));
			assert.equal(found.bytes, sum(inside, (s) => s[by]), q);
			assert.equal(found.weight, sum(inside, (s) => Math.abs(s[by])), q);
			assert.equal(found.frames, new Set(LIST.flatMap((s) => s.frames).filter(hits).map(String)).size, q);
			assert.equal(found.of, t.frames.length);
		}
	}
	assert.equal(compile("  "), null);
	assert.ok(compile("/(/").error);
	assert.ok(compile("/srv/notes/")("/srv/notes/a.rb"), "a path between slashes is itself as well");
	assert.equal(compile("a.c")("abc"), false, "a text is no expression");
});

test("a search below a node, and below a match", () => {
	const t = small([["a b c", 5], ["a d", 3], ["e c", 2]]);
	const found = search(t, "c"), node = (name) => [...t.frame].findIndex((f, i) => i && frameOf(t, i).name === name);
	assert.deepEqual([found.bytes, covered(t, found.hit, node("a")).bytes, covered(t, found.hit, node("d")).bytes], [7, 5, 0]);
	assert.equal(covered(t, search(t, "a").hit, node("b")).bytes, 5, "what is above is in these stacks, too");
	assert.equal(searchWords(t, found, 0), "matches 70\u00a0% of live bytes, 1 of 5 frames");
	assert.equal(searchWords(t, found, node("a"), covered(t, found.hit, node("a"))), "matches 70\u00a0% of live bytes, 63\u00a0% of the zoomed frame, 1 of 5 frames");
	assert.equal(searchWords(t, search(t, "z"), 0), "matches none of 5 frames");
	assert.equal(searchWords(t, search(t, "/[/"), 0), "not a regular expression");
});

test("only lines of Ruby that ask for memory have a page", () => {
	const places = new Set(LIST.map(lineOf).filter(Boolean));
	for (const inverted of [false, true]) {
		const t = tree({ inverted });
		const found = new Set(Array.from({ length: t.n }, (_, i) => locationOf(t, i)).filter(Boolean));
		assert.deepEqual([...found].sort(), [...places].sort());
		assert.equal(locationOf(mergeGroups(t), 3), null);
	}
});

test("a node is found again in another tree of the same stacks", () => {
	const t = tree({}), other = readTree(flame([...LIST].reverse().slice(5), { by: "live" }));
	const path = (tree, i) => (i > 0 ? [...path(tree, tree.parent[i]), placeOf(frameOf(tree, i)) + frameOf(tree, i).name] : []);
	const seen = new Set();
	for (let i = 1; i < t.n; i += 7) {
		const name = nodeName(t, i);
		assert.match(name, /^[0-9a-f]{8}$/);
		seen.add(name);
		assert.equal(findNode(t, name), i);
		const there = findNode(other, name);
		if (there)
			assert.deepEqual(path(other, there), path(t, i));
	}
	assert.equal(seen.size, Math.ceil((t.n - 1) / 7));
	assert.equal(findNode(t, "00000000"), 0);
	assert.equal(findNode(t, ""), 0);
});

test("the address says what is shown", () => {
	const usual = { by: "live", invert: false, location: null, since: null, from: null, to: null, range: null };
	assert.deepEqual(parseQuery(""), usual);
	assert.deepEqual(parseQuery("?by=age&invert=0"), usual);
	for (const query of [usual, { ...usual, by: "growth", invert: true, location: "/srv/a b&c.rb:1", since: "mark" }, { ...usual, by: "growth", from: "10", to: "20.5" }, { ...usual, location: "\u00e4%#?" }])
		assert.deepEqual(parseQuery(formatQuery(query)), query);
	assert.equal(formatQuery({ ...usual, invert: true }), "?invert=1");
	assert.deepEqual(parseQuery("?by=total&from=10&since=mark"), { ...usual, by: "total" }, "only growth is of a range");
	assert.equal(formatQuery(usual), "");
	for (const view of [{ q: "", merge: false, zoom: "" }, { q: "/a|b&c#/", merge: true, zoom: "0123abcd" }])
		assert.deepEqual(parseView(formatView(view)), view);
	assert.equal(parseView("#zoom=<b>").zoom, "");
	assert.deepEqual(["", "&since=mark", "&from=peak", "&range=1h", "&from=10&to=20", "&range=all"].map((times) => sinceName(parseQuery(`?by=growth${times}`))), ["reset", "mark", "peak", "1h", "other", "other"]);
	assert.equal(parseView("#frame=<b>").frame, undefined);
	assert.equal(formatView(parseView("#frame=0123abcd&q=x")), "#q=x&frame=0123abcd");
	assert.deepEqual(parseQuery("?frames=ruby&startup=hide"), { ...usual, frames: "ruby", startup: "hide" });
	assert.deepEqual(parseQuery("?frames=folded&startup=show"), usual, "as without them");
	assert.equal(formatQuery({ ...usual, frames: "all", startup: "hide", label: "a b" }), "?frames=all&startup=hide&label=a+b");
	assert.equal(exportQuery({ ...usual, by: "growth", since: "mark", location: "/a.rb:1", invert: true, frames: "ruby" }), "?frames=ruby");
	assert.equal(exportQuery({ ...usual, by: "total", startup: "hide" }), "?by=total&startup=hide");
});

test("a frame between all its callers and all its callees, each stack once", () => {
	const t = small([["a f x", 5], ["a f y f x", 7], ["b f", 2, 3], ["c x", 4], ["a b", 1]]);
	const at = (name) => t.names.indexOf(name);
	const of = (name) => sandwich(t, t.frames.findIndex(([n]) => n === at(name)));
	const { callers, callees, own } = of("f");
	assert.deepEqual(shape(callees), ["f 14", "-y 7", "--f 7", "---x 7", "-x 5"]);
	assert.deepEqual(shape(callers), ["f 14", "-a 12", "-b 2"]);
	assert.deepEqual([own, callees.samplesOf[0], callers.samplesOf[0]], [2, 5, 5]);
	assert.deepEqual(shape(of("x").callers), ["x 16", "-f 12", "--y 7", "---f 7", "----a 7", "--a 5", "-c 4"]);
	assert.equal(of("x").callees.n, 1);
	assert.equal(findFrame(t, frameHash(t, 2)), 2);
	assert.equal(findFrame(t, "00000000"), -1);
	assert.equal(findFrame(t, undefined), -1);
	// upside down it is the same, but for which of several places of one stack counts
	const down = readTree(flame(LIST, {})), up = readTree(flame(LIST, { inverted: true }));
	for (const frame of [3, 17, 40]) {
		const [one, two] = [sandwich(down, frame), sandwich(up, findFrame(up, frameHash(down, frame)))];
		assert.equal(one.callers.value[0], two.callers.value[0]);
		assert.equal(one.own, two.own);
		const { name, file } = describe(down, frame), want = LIST.filter(({ frames }) => frames.some((f) => f[0] === name && f[1] === file));
		assert.equal(one.callees.value[0], sum(want, (s) => s.live));
		assert.equal(one.own, sum(want.filter(({ frames }) => frames.at(-1)[0] === name), (s) => s.live));
	}
	assert.deepEqual(amountWords(callees, 1, 0).slice(0, 3), ["7\u00a0B live now", "50\u00a0% of f", "own 0\u00a0B"]);
	assert.deepEqual(amountWords(callers, 1, 0).slice(0, 2), ["12\u00a0B live now", "86\u00a0% of f"]);
	assert.equal(locationOf(callees, 1), null);
});

test("no neighbours have one colour, also where a narrow frame between them isn't seen", () => {
	for (const view of VIEWS) {
		const t = tree(view), { fill } = colourFrames(t), rows = [];
		const base = view.by === "growth" ? (i) => step(t.value[i], t.width[0]) : (i) => (i ? fill[t.frame[i]] : INDEX.root);
		const colours = shadeNodes(t, base), first = new Map();
		assert.deepEqual(shadeNodes(tree(view), base), colours, "the same at each reading");
		let own = 0;
		for (let i = 1; i < t.n; i++) {
			const row = rows[t.depth[i]] ??= [];
			assert.notEqual(colours[i], colours[t.parent[i]], "caller");
			for (const beside of row.slice(-2))
				assert.notEqual(colours[i], colours[beside], "beside");
			row.push(i);
			assert.ok([...Array(SHADES).keys()].some((n) => shaded(base(i), n) === colours[i]), "a shade of the group's colour");
			if (!first.has(t.frame[i]))
				first.set(t.frame[i], colours[i]);
			own += first.get(t.frame[i]) === colours[i];
		}
		if (view.by !== "growth")
			assert.ok(own > t.n * 0.55, `frames have their own shade where they can: ${own} of ${t.n}`);
	}
});

test("a colour is the group's, and can be read on", () => {
	assert.equal(hue("json-2.9.1"), hue("json-2.10.0"));
	assert.equal(hue("nokogiri-1.16.2"), hue("nokogiri-1.17.0-x86_64-linux"));
	assert.equal(hue("libruby-3.1.so.3.1"), HUES);
	assert.equal(hue("ruby 3.4 stdlib"), HUES);
	assert.notEqual(hue("rubyzip-2.3.2"), HUES);
	const used = new Set(Array.from({ length: 500 }, (_, i) => hue(`gem${i}-1.0`)));
	assert.equal(used.size, HUES, "all are used");
	const t = tree({}), { native } = colourFrames(t);
	t.frames.forEach(([, , , , kind], f) => assert.equal(native[f] === 1, kind === 1));
	assert.deepEqual([step(0, 9), step(9, 9), step(-9, 9), step(1, 100), step(-5, 100)], ["same", "more-4", "less-4", "more-1", "less-2"].map((n) => INDEX[n]));

	const css = readFileSync(new URL("../../web/src/flame.css", import.meta.url), "utf8");
	const [light, rest] = css.split("@media (prefers-color-scheme: dark)");
	const dark = rest.split("@media (forced-colors")[0];
	const own = NAMES.filter((n) => n.startsWith("--flame"));
	const luminance = (hex) => [1, 3, 5].map((i) => parseInt(hex.length > 4 ? hex.slice(i, i + 2) : hex[(i + 1) / 2].repeat(2), 16) / 255)
		.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	for (const [scheme, part] of [["light", light], ["dark", dark]]) {
		const value = (name) => new RegExp(`${name}: (#[0-9a-f]+);`).exec(part)?.[1];
		for (const name of own.filter((n) => !/text|ring|over|edge|stripe|crumb|hit|faded/.test(n)))
			assert.ok(ratio(luminance(value(name)), luminance(value("--flame-text"))) >= 4.5, `${scheme} ${name} ${value(name)}`);
		for (const name of ["hit", "faded"])
			assert.ok(ratio(luminance(value(`--flame-${name}`)), luminance(value(`--flame-${name}-text`))) >= 4.5, `${scheme} ${name}`);
		assert.ok(ratio(luminance(value("--flame-hit")), luminance(value("--flame-faded"))) >= 4.5, "a match stands out");
		for (const name of own.filter((n) => /^--flame-(\d|more|less|root)/.test(n)))
			assert.ok(ratio(luminance(value(name)), luminance(value("--flame-ring"))) >= 3, `${scheme}: the focus on ${name}`);
		const all = withShades(NAMES.map((name) => (name === "--bg" ? { light: "#fff", dark: "#0d1117" }[scheme] : value(name) ?? "transparent")));
		for (let colour = 0; colour < INDEX.root; colour++) {
			const shades = Array.from({ length: SHADES }, (_, n) => luminance(all[shaded(colour, n)])).sort((a, b) => a - b);
			for (const l of shades)
				assert.ok(ratio(l, luminance(value("--flame-text"))) >= 4.5 && ratio(l, luminance(value("--flame-ring"))) >= 3, `${scheme}: text and focus on a shade of ${NAMES[colour]}`);
			for (let n = 1; n < SHADES; n++)
				assert.ok(ratio(shades[n], shades[n - 1]) >= (colour <= HUES ? 1.08 : 1.01), `${scheme}: shades of ${NAMES[colour]} can be told`);
		}
		// a stronger step is stronger in each of its shades
		for (const sign of ["more", "less"])
			for (let n = 1; n < 4; n++) {
				const of = (k) => Array.from({ length: SHADES }, (_, s) => ratio(luminance(all[shaded(INDEX[`${sign}-${k}`], s)]), luminance(all[INDEX.bg])));
				assert.ok(Math.max(...of(n)) < Math.min(...of(n + 1)), `${scheme}: ${sign}-${n}`);
			}
	}
});

test("words", () => {
	assert.deepEqual([0, 1, 4, 1204, 100000].map(errorWords), ["no sample: not known from where", "estimated from 1 sample: the size may be quite another",
		"estimated from 4 samples only, about \u00b150\u00a0%", "estimated from 1,204 samples, about \u00b13\u00a0%", "estimated from 100,000 samples, about \u00b10.3\u00a0%"]);
	assert.deepEqual([[0, 5], [5, 5], [1, 3], [1, 30], [1, 1e5], [1, 0]].map(([a, b]) => percent(a, b)), ["0", "100", "33", "3.3", "<0.01", "0"].map((s) => `${s}\u00a0%`));
	const t = small([["a b c", 5000, 9], ["a d", 3000, 100], ["e", 2000, 0]]);
	assert.deepEqual(amountWords(t, 2, 1), ["4.88\u00a0KB live now", "50\u00a0% of all", "63\u00a0% of the zoomed frame", "own 0\u00a0B", errorWords(9)]);
	assert.equal(spoken(t, t.n - 1, 0), "e, 1.95\u00a0KB live now, 20\u00a0% of all, own 1.95\u00a0KB, no sample: not known from where, /g.rb:1, g, row 2, nothing below");
	assert.match(summaryWords(t, { since: null, now: t.unix }), /^9\.77\u00a0KB are live, as of \d\d:\d\d:\d\d\. The sum of each line is exact\. Callers are estimated from 109 samples, one for about 64\.0\u00a0KB allocated\.$/);
	assert.match(summaryWords({ ...t, by: "growth", total: -2048 }, { since: "60", now: t.unix }), /^Live bytes shrank by 2\.00\u00a0KB since 60 seconds after the start until /);
	assert.match(summaryWords({ ...t, location: "/a.rb:1", samples: 0 }, { now: t.unix }), /^9\.77\u00a0KB by \/a\.rb:1 are live, .* No stack was sampled yet, so no caller is known\.$/);
	assert.match(summaryWords({ ...t, samples: 0, rate: 0 }, { now: t.unix }), / No stacks are kept: the option stacks is off\. Each location stands for itself\.$/);
	const clock = "\\d\\d:\\d\\d:\\d\\d", range = { since: null, from: 1, to: 200, unix_from: t.unix - 200, unix_to: t.unix - 1, elsewhere: 0 };
	const grown = { ...t, by: "growth", total: 2048, range }, says = (change, words) => assert.match(summaryWords({ ...grown, ...change }, { since: null, now: t.unix }), new RegExp(words));
	says({}, `^Live bytes grew by 2\\.00\u00a0KB from ${clock} to ${clock}\\. Callers are estimated from 109 samples that were taken in that time and still live\\.$`);
	says({ total: -2048, location: "/a.rb:1", samples: 1 }, "^Live bytes by /a\\.rb:1 shrank by 2\\.00\u00a0KB from .* from 1 sample that was taken in that time and still lives\\.$");
	says({ samples: 0, range: { ...range, elsewhere: -4096 } }, ` to ${clock}\\. Lines that the history doesn\u2019t keep shrank by 4\\.00\u00a0KB together\\. No sample of that time still lives: each line is divided among its callers as all that lives\\.$`);
	says({ samples: 0, rate: 0 }, " No stacks are kept: the option stacks is off\\. Each location stands for itself\\.$");
	says({ range: { ...range, since: "mark" } }, `^Live bytes grew by 2\\.00\u00a0KB since the mark at ${clock}\\. `);
	const objects = { ...t, by: "objects" };
	assert.match(summaryWords(objects, { since: null, now: t.unix }), /^Of Ruby\u2019s objects made, about 9\.77\u00a0KB stay, as of .*\. Each line is estimated from samples, 109 in all\. Their callers aren\u2019t known\.$/);
	assert.match(summaryWords({ ...objects, samples: 0 }, { now: t.unix }), / No object was sampled, or the option objects is off\.$/);
	assert.deepEqual(amountWords(objects, 0, 0), ["9.77\u00a0KB in Ruby\u2019s heap", errorWords(109)]);
	assert.equal(errorWords(0, objects), "no sample");
	assert.equal(errorWords(0, grown), "no sample of that time lives: divided as all that lives");
	assert.match(summaryWords({ ...t, startup: 4096 }, { now: t.unix }), / Start-up isn\u2019t shown: 4\.00\u00a0KB\.$/);
	assert.match(summaryWords({ ...t, startup: 0 }, { now: t.unix }), / Start-up isn\u2019t shown\.$/);
	assert.match(summaryWords({ ...t, pruned: 1200 }, { now: t.unix }), / 1,200 frames too small to be seen are left out; /);
});
