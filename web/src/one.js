// SPDX-License-Identifier: GPL-2.0-or-later
// one.js - one location: a sentence, then live bytes and count over time,
// rates, sizes and ages, the newest and oldest live blocks, and the source.
// The stream's values are drawn as they come. It has no sizes, ages and blocks:
// the page asks for them when the location changed, every five seconds at most.

import { el, setText } from "./dom.js";
import { bytes, count, gcs, small, visible, sizeRange, countRange, duration, moment, DASH } from "./format.js";
import { pieces } from "./place.js";
import { pairChart } from "./chart.js";
import { locationSentence } from "./verdict.js";
import { LIVE, ALLOCATIONS, FREES } from "./series.js";
import { joined, filled } from "./curves.js";
import { getJSON, getOwn, encodeLocation, base } from "./server.js";
import { placeLinks } from "./links.js";
import { Callers } from "./callers.js";
import { Held } from "./held.js";

const AGAIN = 5000;
const PAST_AGAIN = 60000; // newer events come by the stream
const POINTS = 300;
const LISTED = 10;

export class One {
	constructor(on) {
		this.on = on;
		this.location = null;
		this.name = el("h1", { class: "location", tabindex: -1 }, el("span", { class: "far" }), el("span", { class: "near" }), el("b"));
		this.sentence = el("p", { class: "sentence" });
		this.facts = el("dl", { class: "facts-line" });
		this.over = el("div", { class: "plot", role: "img" });
		this.rates = el("div", { class: "plot", role: "img" });
		this.bySize = el("table", { class: "histogram" });
		this.byAge = el("table", { class: "histogram" });
		this.newest = el("table", { class: "blocks" });
		this.oldest = el("table", { class: "blocks" });
		this.addresses = el("details", {}, el("summary", {}, "Single blocks, with their addresses"), el("div", { class: "columns" }, this.newest, this.oldest));
		this.source = el("div", { class: "source" });
		this.callers = new Callers();
		this.held = new Held();
		this.exports = el("p", { class: "exports" });
		this.plots = el("div", {},
			el("figure", {}, el("figcaption", {}, el("span", { class: "key one" }, "live bytes"), " ", el("span", { class: "key two" }, "blocks seen by this page")), this.over),
			el("figure", {}, el("figcaption", {}, el("span", { class: "key one" }, "allocations a second"), " ", el("span", { class: "key two" }, "frees a second")), this.rates));
		this.root = el("section", { class: "one", "aria-label": "One location", hidden: true },
			el("p", {}, el("button", { type: "button", class: "back", onclick: () => on.back() }, "\u2190 All locations")),
			this.name, this.links = el("div"), this.sentence,
			el("div", { class: "columns beside-source" }, this.plots, this.source),
			this.facts, this.callers.root, this.held.root,
			el("div", { class: "columns" }, this.bySize, this.byAge), this.addresses, this.exports);
	}

	// Another location, or null: it goes. hello: the stream's first event, as soon as it came
	show(location, rows, hello) {
		if (location === this.location)
			return;
		this.location = location;
		this.root.hidden = location === null;
		this.charts?.forEach((c) => c.remove());
		this.charts = null;
		if (location === null)
			return;
		this.asked = -Infinity;
		this.detail = null;
		this.past = null;
		this.pastKey = undefined;
		this.changed = true;
		this.charts = [pairChart(this.over, ["bytes", "count"], true), pairChart(this.rates, ["rate", "rate"], true)];
		for (const node of [this.bySize, this.byAge, this.newest, this.oldest, this.source, this.exports, this.facts])
			node.replaceChildren();
		this.callers.clear();
		this.held.about(base(), `?location=${encodeLocation(location)}`);
		const slot = rows.find(location);
		const cut = pieces(location, slot >= 0 ? rows.fileLength[slot] : location.length);
		cut.forEach((text, i) => setText(this.name.children[i], visible(text)));
		for (const form of ["tsv", "csv", "json"])
			this.exports.append(form === "tsv" ? "All live blocks as " : " ",
				el("a", { href: `${base()}/at/${encodeLocation(location)}.${form}` }, form.toUpperCase()));
		this.links.replaceChildren(placeLinks(location));
		this.name.focus({ preventScroll: true });
		scrollTo(0, 0);
		this.hello = hello;
		this.wanted = true;
		this.wantSource(rows, slot);
	}

	// When the location is known. Not asked for where there is no source: it would be an
	// error in the browser's console.
	wantSource(rows, slot) {
		const hidden = this.hello && !this.hello.source;
		if (!this.wanted || (slot < 0 && !hidden))
			return;
		this.wanted = false;
		if (hidden)
			this.noSource("the process doesn\u2019t show any");
		else if (slot >= 0 && rows.kind[slot] !== "ruby")
			this.noSource("this isn\u2019t a line of Ruby code");
		else
			this.askSource(this.location);
	}

	noSource(why) {
		this.source.replaceChildren(el("p", { class: "note" }, `No source lines: ${why}.`));
	}

	// rows: Rows; span: the times shown; query: the same as a question to the server; times: {from, to} of the growth that
	// is shown, if a time was chosen for it; offset: Unix time of
	// uptime 0; life: {unit, ago(n)}; away: nobody answers; start(): the process's
	update(rows, { span, query, times, offset, life, away, start }) {
		const slot = rows.find(this.location);
		this.life = life;
		this.offset = offset;
		this.callers.link(this.location, times);
		this.wantSource(rows, slot);
		if (slot >= 0 && !away)
			this.wantPast(query, start);
		const curve = this.past || { t: [], v: [] };
		this.plots.hidden = slot < 0 && !curve.t.length;
		const s = slot < 0 ? null : rows.series[slot];
		if (s)
			s.max = Math.max(s.max, 600); // while it is looked at, it is kept finer
		const [t0, now] = [span[0], Math.max(span[1], span[0] + 1)];
		const live = joined(curve, s, t0, now);
		if (!this.plots.hidden) {
			this.charts[0].set(pair(live, s ? s.column(LIVE, t0, now) : live, offset, s), t0 + offset, now + offset);
			this.charts[1].set(s ? rateColumns(s, t0, now, offset) : [[], [], []], t0 + offset, now + offset);
		}
		if (slot < 0) {
			setText(this.sentence, rows.told ? "This location isn\u2019t in the table: nothing lives there any more, nothing ever did, or the process is another one." : "Loading\u2026");
			return;
		}
		const lifeUnit = life.unit;
		const row = Object.fromEntries(["liveBytes", "live", "frees", "allocations", "total", "growth", "lifeSum", "lifeMax"].map((k) => [k, rows[k][slot]]));
		const bySize = this.detail?.by_size || [];
		setText(this.sentence, locationSentence({ row, grows: rows.growing?.get(this.location), t: live.t, v: live.values, offset, bySize, lifeUnit }));
		this.over.setAttribute("aria-label", `Live bytes over time, now ${bytes(row.liveBytes)} in ${count(row.live)} blocks`);
		this.rates.setAttribute("aria-label", `Allocations a second over time, now ${small(rows.rate[slot])}`);
		this.showFacts(row, rows.rate[slot], lifeUnit);
		const stamp = s.last;
		if (!away && (stamp !== this.stamp || !this.detail) && performance.now() - this.asked > AGAIN) {
			this.stamp = stamp;
			this.askDetail(this.location);
		}
	}

	showFacts(row, rate, lifeUnit) {
		const about = (v) => (this.life.ago(v) === null || !v ? "" : `, about ${duration(this.life.ago(v))}`);
		const life = (v) => (lifeUnit === "bytes" ? bytes(v) : `${small(v)} ${v === 1 ? "collection" : "collections"}`) + about(v);
		const facts = [
			["allocated", bytes(row.total)], ["allocations", count(row.allocations)], ["frees", count(row.frees)],
			["growth", bytes(row.growth)], ["allocations a second", small(rate)],
			["mean lifespan", row.frees ? life(row.lifeSum / row.frees) : DASH], ["longest lifespan", row.frees ? life(row.lifeMax) : DASH],
		];
		if (this.facts.children.length !== facts.length)
			this.facts.replaceChildren(...facts.map(([name]) => el("div", {}, el("dt", {}, name), el("dd"))));
		facts.forEach(([, value], i) => setText(this.facts.children[i].lastChild, value));
	}

	// Live bytes before the page was opened
	async wantPast(query, start) {
		const key = `${this.location} ${query}`;
		if (key === this.pastKey && performance.now() - this.pastAt < PAST_AGAIN)
			return;
		if (key !== this.pastKey)
			this.past = null;
		this.pastKey = key;
		this.pastAt = performance.now();
		const json = await getOwn(`/history/locations.json?${query || "range=15m"}&points=${POINTS}&location=${encodeLocation(this.location)}`, start).catch(() => null);
		const row = json?.rows[0];
		if (key !== this.pastKey || !row || row[1] !== this.location)
			return;
		const known = filled(row[4], json.t);
		this.past = { t: json.t.filter((_, i) => known[i] !== null), v: known.filter((v) => v !== null) };
		this.on.draw();
	}

	async askDetail(location) {
		this.asked = performance.now();
		try {
			const detail = await getJSON(`/at/${encodeLocation(location)}.json?limit=${LISTED}&oldest=${LISTED}`);
			if (location === this.location)
				this.showDetail(detail);
		} catch (e) {
			if (location === this.location && e.status)
				this.bySize.replaceChildren(el("caption", {}, `Sizes and ages can\u2019t be shown: ${e.message}.`));
		}
	}

	showDetail(d) {
		this.detail = d;
		const unit = d.life_unit === "bytes" ? "bytes allocated since" : "garbage collections since";
		const age = d.life_unit === "bytes" ? sizeRange : countRange;
		const listed = d.live_samples ? "Sampled live blocks" : "Live blocks";
		histogram(this.bySize, `${listed} by size`, "size", d.by_size, sizeRange);
		const wall = (from, to) => {
			const times = [this.life.ago(from), this.life.ago(to)];
			return times[0] === null ? "" : ` (about ${[...new Set(times.map(duration))].join("\u2013")})`;
		};
		histogram(this.byAge, `${listed} by age, in ${unit}`, "age", d.by_age, (from, to) => age(from, to) + wall(from, to));
		this.callers.show(d);
		const lives = d.lives || [];
		const oldest = d.oldest || lives.slice(-LISTED).reverse();
		const born = (l) => {
			const ago = this.life.ago(l.age);
			return ago === null ? DASH : `about ${moment(Date.now() / 1000 - ago, Date.now() / 1000)}, ${duration(ago)} ago`;
		};
		blocks(this.newest, "Newest live blocks", lives.slice(0, LISTED), d.life_unit, born);
		blocks(this.oldest, "Oldest live blocks", oldest, d.life_unit, born);
		this.on.draw();
	}

	async askSource(location) {
		let answer;
		try {
			answer = await getJSON(`/source?location=${encodeLocation(location)}`);
		} catch (e) {
			if (location === this.location && e.status)
				this.noSource(e.message);
			return;
		}
		if (location !== this.location)
			return;
		if (answer.why) {
			this.noSource(answer.why);
			return;
		}
		this.source.replaceChildren(el("ol", { tabindex: 0, "aria-label": `Source of ${visible(answer.file)}` },
			answer.lines.map((text, i) => {
				const line = answer.first + i, here = line === answer.line;
				return el("li", { class: here ? "here" : null, "aria-current": here ? "true" : null },
					el("span", { class: "no" }, String(line)), el("code", {}, visible(text.replace(/\t/g, "  ")) || " "));
			})), answer.truncated ? el("p", { class: "note" }, "Long lines are cut.") : "");
	}
}

// [unix, live bytes, blocks] at the times of both; an unknown value is null
function pair(live, blocks, offset, known) {
	const times = [...new Set([...live.t, ...(known ? blocks.t : [])])].sort((a, b) => a - b);
	const held = ({ t, values }) => {
		let i = -1;
		return times.map((at) => {
			while (i + 1 < t.length && t[i + 1] <= at)
				i++;
			return i < 0 ? null : values[i];
		});
	};
	return [times.map((t) => t + offset), held(live), known ? held(blocks) : times.map(() => null)];
}

// [unix, allocations a second, frees a second]: each value holds to the next
function rateColumns(s, t0, now, offset) {
	const out = [[], [], []];
	for (let i = Math.max(s.find(t0), 0); i < s.n; i++) {
		const last = i + 1 >= s.n;
		const dt = last ? 1 : s.at(i + 1, 0) - s.at(i, 0);
		out[0].push(Math.max(s.at(i, 0), t0) + offset);
		for (const [k, what] of [[1, ALLOCATIONS], [2, FREES]])
			out[k].push(last ? (now - s.at(i, 0) > 2 ? 0 : null) : Math.max(0, (s.at(i + 1, what) - s.at(i, what)) / dt));
	}
	if (out[0].length && now > out[0][out[0].length - 1] - offset) {
		out[0].push(now + offset);
		out[1].push(out[1][out[1].length - 1]);
		out[2].push(out[2][out[2].length - 1]);
	}
	return out;
}

function histogram(table, caption, what, buckets, range) {
	const most = Math.max(1, ...buckets.map((b) => b.bytes));
	const most2 = Math.max(1, ...buckets.map((b) => b.count));
	const cell = (text, part) => {
		const td = el("td", { class: "num bar live" }, el("span", {}, text));
		td.style.setProperty("--part", part.toFixed(3));
		return td;
	};
	table.replaceChildren(el("caption", {}, caption),
		el("thead", {}, el("tr", {}, [what, "blocks", "bytes"].map((t) => el("th", { scope: "col", class: "num" }, t)))),
		el("tbody", {}, buckets.map((b) => el("tr", {}, el("th", { scope: "row", class: "num" }, range(b.from, b.to)),
			cell(count(b.count), b.count / most2), cell(bytes(b.bytes), b.bytes / most))),
		buckets.length ? "" : el("tr", {}, el("td", { class: "empty", colspan: 3 }, "Nothing is live."))));
}

function blocks(table, caption, lives, unit, born) {
	const age = (l) => (unit === "bytes" ? bytes(l.age) : gcs(l.age));
	table.replaceChildren(el("caption", {}, caption),
		el("thead", {}, el("tr", {}, ["size", "age", "since", "address"].map((t) => el("th", { scope: "col", class: "num" }, t)))),
		el("tbody", {}, lives.map((l) => el("tr", {}, el("td", { class: "num" }, bytes(l.size)), el("td", { class: "num", title: `generation ${count(l.generation)}` }, age(l)),
			el("td", { class: "num" }, born(l)), el("td", { class: "num address" }, l.address))),
		lives.length ? "" : el("tr", {}, el("td", { class: "empty", colspan: 4 }, "Nothing is live."))));
}

