// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { Rows } from "../../web/src/rows.js";
import { Matches } from "../../web/src/matches.js";
import { View } from "../../web/src/view.js";
import { parse, matcher, narrows } from "../../web/src/filter.js";
import { sortSlots, sortAgain } from "../../web/src/sort.js";
import { COLUMNS } from "../../web/src/columns.js";
import { usual } from "../../web/src/state.js";

// The same numbers in every run
function random(seed) {
	let s = seed;
	return (n) => {
		s = (Math.imul(s, 1103515245) + 12345) & 0x7fffffff;
		return (s >> 8) % n;
	};
}

const whole = (id, location, value = 1) =>
	[id, value, 3, value % 5, value - 4, value, 1, value, value % 7, value % 3, location, location.replace(/:\d+$/, "").length, "ruby"];
const event = (t, rows, more = {}) => ({ t, all: false, more: false, gone: [], rows, ...more });
const PLACES = ["/g/gems/rack-3.1/lib/rack.rb", "/g/gems/puma-6.6/lib/puma/server.rb", "/srv/App/models/user.rb", "/srv/App/models/rack_cache.rb", "/usr/lib/ruby/3.1.0/set.rb"];
const place = (rnd) => `${PLACES[rnd(PLACES.length)]}:${rnd(300)}`;

function some(n, rnd) {
	const rows = new Rows();
	rows.apply(event(1, Array.from({ length: n }, (_, i) => whole(i + 1, place(rnd), rnd(9))), { all: true }));
	return rows;
}

// The right result, by looking at every row
function plainly(rows, q) {
	const match = matcher(rows, parse(q));
	return Array.from({ length: rows.slots }, (_, i) => i).filter((i) => rows.used[i] && match(i));
}
const found = (rows, hit) => Array.from({ length: rows.slots }, (_, i) => i).filter((i) => rows.used[i] && (!hit || hit[i]));

test("one more letter looks only at what matched, one less at nothing", () => {
	const rows = some(500, random(3)), m = new Matches(rows);
	const looked = (q) => {
		const before = m.looked;
		assert.deepEqual(found(rows, m.of(q)), plainly(rows, q), q);
		return m.looked - before;
	};
	let matched = rows.size, steps = 0;
	for (const q of ["r", "ra", "rac", "rack", "rack ", "rack m", "rack mo", "rack mo -", "rack mo -3", "rack mo -3 gem:s"]) {
		const n = looked(q);
		assert.ok(n <= matched, `${q}: ${n} of ${matched}`);
		matched = plainly(rows, q).length;
		steps += n;
	}
	assert.ok(matched > 0 && matched < 100, String(matched));
	assert.ok(steps < rows.size * 5, `${steps}: many were left out`);
	for (const q of ["rack mo -3", "rack mo -", "rack mo", "rack", "rac", "ra", "r", "", "r", "ra", "rack mo -3"])
		assert.equal(looked(q), 0, q);
	assert.equal(looked("puma"), rows.size, "another word is for all rows");
});

test("when rows come, only these are looked at", () => {
	const rows = some(300, random(5)), m = new Matches(rows);
	m.of("rack");
	m.of("rack 1");
	const before = m.looked;
	const had = found(rows, m.of("rack 1")).length;
	rows.apply(event(2, [whole(1000, "/srv/rack.rb:11"), whole(1001, "/srv/other.rb:1")]));
	assert.equal(found(rows, m.of("rack 1")).length, had + 1);
	assert.equal(m.looked - before, 3, "two by the first word, one of them by both");
	rows.apply(event(3, [[7, 9, 9, 9, 9, 9, 9, 9, 9, 9]]));
	m.of("rack 1");
	assert.equal(m.looked - before, 3, "numbers don't matter");
});

test("a slot's next row isn't taken for the one before", () => {
	const rows = some(1, random(1)), m = new Matches(rows);
	rows.apply(event(1, [whole(1, "/rack.rb:1")], { all: true }));
	assert.deepEqual(found(rows, m.of("rack")), [0]);
	rows.apply(event(2, [], { gone: [1] }));
	assert.deepEqual(found(rows, m.of("rack")), []);
	rows.apply(event(3, [whole(2, "/puma.rb:1")]));
	assert.deepEqual(found(rows, m.of("rack")), []);
	rows.apply(event(4, [whole(3, "/rack.rb:1")], { gone: [2] }));
	assert.deepEqual(found(rows, m.of("rack")), plainly(rows, "rack"));
	rows.clear();
	rows.apply(event(5, [whole(2, "/puma.rb:1"), whole(3, "/rack.rb:1")], { all: true }));
	assert.deepEqual(found(rows, m.of("rack")), plainly(rows, "rack"));
});

test("which words narrow which", () => {
	const is = (now, before) => narrows(parse(now), parse(before));
	for (const [now, before] of [["ab", "a"], ["cab", "ab"], ["a b", "a"], ["b a", "a b"], ["-a", "-ab"], ["gem:ra", "gem:r"], ["a -b", "a"], ["x", ""]])
		assert.ok(is(now, before), `${now} ${before}`);
	for (const [now, before] of [["a", "ab"], ["ac", "ab"], ["a", "a b"], ["-ab", "-a"], ["gem:a", "a"], ["a", "gem:a"], ["a", "-a"], ["-a", "a"], ["", "a"]])
		assert.ok(!is(now, before), `${now} ${before}`);
});

test("whatever is typed and whatever comes and goes, it is what looking at all rows gives", () => {
	const rnd = random(11), rows = some(60, rnd), m = new Matches(rows);
	const ends = ["r", "ra", "rack", "1", "12", "-1", "-12", "gem:r", "gem:rack", "gem:", "-gem:puma", "app", " ", "\"", "server"];
	let q = "", next = 5000;
	for (let step = 0; step < 3000; step++) {
		const what = rnd(10);
		if (what < 5)
			q = rnd(3) ? `${q}${rnd(2) ? " " : ""}${ends[rnd(ends.length)]}` : q.slice(0, -1);
		else if (what === 5)
			q = "";
		else if (what === 6)
			rows.apply(event(step, [whole(next++, place(rnd))]));
		else if (what === 7 && rows.size > 20)
			rows.apply(event(step, rnd(2) ? [whole(next++, place(rnd))] : [], { gone: [[...rows.bySlot.keys()][rnd(rows.size)]] }));
		else if (what === 8 && rnd(40) === 0)
			rows.apply(event(step, Array.from({ length: 30 + rnd(40) }, () => whole(next++, place(rnd))), { all: true }));
		assert.deepEqual(found(rows, m.of(q)), parse(q).length ? plainly(rows, q) : found(rows, null), q);
	}
});

test("a long text typed letter by letter keeps a bounded number of steps", () => {
	const rows = some(20, random(2)), m = new Matches(rows);
	const text = "/g/gems/rack-3.1/lib/rack.rb/and/so/on/and/so/on";
	for (let i = 1; i <= text.length; i++)
		assert.deepEqual(found(rows, m.of(text.slice(0, i))), plainly(rows, text.slice(0, i)));
	assert.ok(m.levels.length <= 32, String(m.levels.length));
	for (let i = text.length; i > 0; i--)
		assert.deepEqual(found(rows, m.of(text.slice(0, i))), plainly(rows, text.slice(0, i)));
});

test("moving what changed gives the order that sorting all gives", () => {
	const rnd = random(17), rows = some(200, rnd);
	for (const c of COLUMNS)
		for (const descending of [true, false]) {
			const slots = Array.from({ length: rows.slots }, (_, i) => i);
			let last = null;
			for (let step = 0; step < 30; step++) {
				for (let n = rnd(step % 3 ? 4 : 90); n > 0; n--)
					rows.apply(event(2 + step, [whole(1 + rnd(200), "", rnd(9)).slice(0, 10)]));
				last = sortAgain(slots, rows, c, descending, last);
				assert.deepEqual(slots, sortSlots([...slots].reverse(), rows, c, descending), `${c.id} ${step}`);
			}
		}
});

test("a view that was kept for long is one made anew", () => {
	const rnd = random(23), rows = some(80, rnd), view = new View(rows);
	let next = 1000, state = usual();
	for (let step = 0; step < 1500; step++) {
		const what = rnd(8);
		if (what === 0)
			rows.apply(event(step, [whole(next++, place(rnd), rnd(9))], { gone: rnd(2) ? [[...rows.bySlot.keys()][rnd(rows.size)]] : [] }));
		else if (what === 1 && rnd(30) === 0)
			rows.apply(event(step, Array.from({ length: 70 }, () => whole(next++, place(rnd), rnd(9))), { all: true }));
		else if (what < 5)
			rows.apply(event(step, [whole([...rows.bySlot.keys()][rnd(rows.size)], "", rnd(9)).slice(0, 10)]));
		else if (what === 5)
			state = { ...state, sort: COLUMNS[rnd(COLUMNS.length)].id, desc: rnd(2) === 1 };
		else
			state = { ...state, q: ["", "r", "ra", "rack", "1", "gem:rack"][rnd(6)], group: rnd(6) ? "line" : "gem" };
		view.update(state, { kind: "start" }, false);
		const anew = new View(rows);
		anew.update(state, true, false);
		// groups of the same value are in any order
		const shown = (v) => (state.group === "line" ? v.order : v.order.map((g) => v.source.location[g]).sort());
		assert.deepEqual(shown(view), shown(anew), `${step} ${JSON.stringify(state)}`);
		assert.deepEqual(view.sums, anew.sums);
		assert.deepEqual(view.max, anew.max);
	}
});
