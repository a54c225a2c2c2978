/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict_words.c - a verdict as a sentence. See verdict.h.
 *
 * Numbers are made from integers: printf's would follow the app's locale.
 */
#include <string.h>

#include "verdict.h"

static const char *const kinds[MW_VERDICT_KINDS_N] = {
	[MW_VERDICT_WATCHING] = "watching",
	[MW_VERDICT_WARMING] = "warming",
	[MW_VERDICT_FLAT] = "flat",
	[MW_VERDICT_SAWTOOTH] = "sawtooth",
	[MW_VERDICT_FILLED] = "filled",
	[MW_VERDICT_GROWS] = "grows",
	[MW_VERDICT_GREW] = "grew",
	[MW_VERDICT_STEP] = "step",
	[MW_VERDICT_FALLS] = "falls",
	[MW_VERDICT_EXPLODES] = "explodes",
	[MW_VERDICT_HEAP] = "heap",
	[MW_VERDICT_FRAGMENTATION] = "fragmentation",
	[MW_VERDICT_NATIVE] = "native",
	[MW_VERDICT_FILES] = "files",
	[MW_VERDICT_STACKS] = "stacks",
	[MW_VERDICT_PAUSED] = "paused",
	[MW_VERDICT_UNCOLLECTED] = "uncollected",
};

const char *mw_verdict_name(enum mw_verdict_kind kind)
{
	return kinds[kind];
}

bool mw_verdict_grows(enum mw_verdict_kind kind)
{
	return kind == MW_VERDICT_GROWS || kind == MW_VERDICT_EXPLODES || kind == MW_VERDICT_HEAP ||
	       kind == MW_VERDICT_FRAGMENTATION || kind == MW_VERDICT_NATIVE ||
	       kind == MW_VERDICT_FILES || kind == MW_VERDICT_STACKS;
}

/* --- amounts -------------------------------------------------------------------- */

static double size_of(double x)
{
	return x < 0 ? -x : x;
}

/* The size of a number of bytes, without its sign: 1.14 MB. */
static void bytes(struct mw_buf *b, double n)
{
	const char *unit = mw_buf_amount(b, (uint64_t)(size_of(n) + 0.5), false);

	mw_buf_str(b, " ");
	mw_buf_str(b, unit);
}

/* A minute's growth; an hour's, if that of a minute is less than some pages. */
static void per_time(struct mw_buf *b, double rate)
{
	bool slow = size_of(rate) * 60 < 100 * 1024;

	bytes(b, rate * (slow ? 3600 : 60));
	mw_buf_str(b, slow ? " an hour" : " a minute");
}

static void number(struct mw_buf *b, uint64_t n, const char *one, const char *many)
{
	mw_buf_u64(b, n);
	mw_buf_str(b, n == 1 ? one : many);
}

/* Roughly, for a sentence: 40 s, 25 min, 3 h, 2 days. */
static void duration(struct mw_buf *b, double seconds)
{
	uint64_t s = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds + 0.5) : 0;

	if (s < 100)
		number(b, s, " s", " s");
	else if (s < 100 * 60)
		number(b, (s + 30) / 60, " min", " min");
	else if (s < 48 * 3600)
		number(b, (s + 1800) / 3600, " h", " h");
	else
		number(b, (s + 43200) / 86400, " day", " days");
}

static void part_in_hundred(struct mw_buf *b, double share)
{
	if (share >= 0.995)
		mw_buf_str(b, "all");
	else
		mw_buf_fmt(b, "%u %%", (unsigned)(share * 100 + 0.5));
}

void mw_verdict_short(struct mw_buf *b, const struct mw_verdict_location *l)
{
	size_t name = l->file_len < l->len ? l->file_len : l->len, from = name;

	if (l->kind == MW_KIND_SPECIAL)
		from = 0;
	while (from && l->location[from - 1] != '/')
		from--;
	mw_buf_tsv(b, l->location + from, l->len - from); /* one line of valid UTF-8 */
}

/* --- clauses -------------------------------------------------------------------- */

static bool known(double x)
{
	return x == x;
}

static const char *event_name(const struct mw_event *e)
{
	return !strcmp(e->kind, "annotation") ? e->text : e->kind;
}

static void since(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, " for ");
	duration(b, v->to - v->since);
	if (v->event) {
		mw_buf_str(b, ", since ");
		mw_buf_str(b, event_name(v->event));
	}
}

/* Live memory grew, RSS by less than a quarter of that. */
static void why_not_rss(struct mw_buf *b, const struct mw_verdict *v)
{
	double less = v->moved[MW_PART_LIVE] - v->moved[MW_PART_RSS], freed = v->moved[MW_PART_FREE];

	mw_buf_str(b, "RSS doesn't yet");
	if (known(freed))
		mw_buf_str(b, -freed * 2 >= less ? ", since live memory fills what was free" :
						   ", since most of it isn't in RAM");
}

/* "96 % of RSS's growth, 91 % of that at redcarpet.rb:51" */
static void why_live(struct mw_buf *b, const struct mw_verdict *v)
{
	double rss = v->moved[MW_PART_RSS], live = v->moved[MW_PART_LIVE];
	bool both = known(rss) && known(live) && live > 0;
	double share = both && rss > 0 ? live / rss : 1;

	if (both && rss * 4 < live) {
		why_not_rss(b, v);
	} else if (both) {
		part_in_hundred(b, share < 1 ? share : 1);
		mw_buf_str(b, " of RSS's growth");
	} else {
		mw_buf_str(b, "RSS isn't known");
	}
	if (!v->n)
		return;
	mw_buf_str(b, ", ");
	if (v->locations[0].share < 0.01) {
		mw_buf_str(b, "spread over many lines");
		return;
	}
	if (v->locations[0].share < 0.25)
		mw_buf_str(b, "spread over many lines, most (");
	part_in_hundred(b, v->locations[0].share);
	mw_buf_str(b, v->locations[0].share < 0.25 ? ") at " : " of that at ");
	mw_verdict_short(b, &v->locations[0]);
	if (v->n > 1 && v->locations[0].share < 0.75 && v->locations[1].share >= 0.2) {
		mw_buf_str(b, ", ");
		part_in_hundred(b, v->locations[1].share);
		mw_buf_str(b, " at ");
		mw_verdict_short(b, &v->locations[1]);
	}
}

static void grows(struct mw_buf *b, const struct mw_verdict *v)
{
	if (v->at_location && v->n) {
		mw_verdict_short(b, &v->locations[0]);
		mw_buf_str(b, " grows by ");
		per_time(b, v->rate);
		since(b, v);
		mw_buf_str(b, ", beneath memory that comes and goes");
		return;
	}
	mw_buf_str(b, "Live memory grows by ");
	per_time(b, v->rate);
	since(b, v);
	mw_buf_str(b, ": ");
	why_live(b, v);
}

static const char *const part_titles[MW_PARTS_N] = {
	[MW_PART_RSS] = "RSS",
	[MW_PART_LIVE] = "live",
	[MW_PART_HEAP] = "Ruby's heap",
	[MW_PART_FREE] = "free memory in malloc's arenas",
	[MW_PART_ANON] = "memory outside malloc, from mmap",
	[MW_PART_FILES] = "mapped files",
	[MW_PART_STACKS] = "threads' stacks",
	[MW_PART_TRACKER] = "the tracker's own",
};

/* RSS grows, and that part of it most. */
static void grows_elsewhere(struct mw_buf *b, const struct mw_verdict *v)
{
	double rss = v->moved[MW_PART_RSS], part = v->moved[v->part], live = v->moved[MW_PART_LIVE];
	bool heap = v->rate_of == MW_PART_HEAP;

	mw_buf_str(b, heap ? "Ruby's heap grows by " : "RSS grows by ");
	per_time(b, v->rate);
	since(b, v);
	mw_buf_str(b, ": ");
	if (known(rss) && known(part) && rss > 0 && part > 0) {
		part_in_hundred(b, part < rss ? part / rss : 1);
		mw_buf_str(b, heap ? " of RSS's growth is " : " of it is ");
	} else {
		mw_buf_str(b, "most of it is ");
	}
	mw_buf_str(b, part_titles[v->part]);
	if (v->part == MW_PART_FREE && known(v->now[MW_PART_FREE]) && known(v->now[MW_PART_RSS])) {
		mw_buf_str(b, ", now ");
		bytes(b, v->now[MW_PART_FREE]);
		mw_buf_str(b, " of ");
		bytes(b, v->now[MW_PART_RSS]);
	}
	if (known(rss) && known(live) && live > rss / 10 && v->n && v->locations[0].share >= 0.25) {
		mw_buf_str(b, "; ");
		part_in_hundred(b, live < rss ? live / rss : 1);
		mw_buf_str(b, " is live, most at ");
		mw_verdict_short(b, &v->locations[0]);
	} else if (v->part == MW_PART_FREE) {
		mw_buf_str(b, "; live memory doesn't grow");
	}
}

static void warming(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "Warming up: live memory rose by " :
		      v->rate_of == MW_PART_HEAP ? "Warming up: Ruby's heap rose by " :
						   "Warming up: RSS rose by ");
	bytes(b, v->change);
	mw_buf_str(b, " in ");
	duration(b, v->to - v->since);
	mw_buf_str(b, ", soon after the start");
}

static void uncollected(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, "Live memory rose by ");
	bytes(b, v->change);
	mw_buf_str(b, " in ");
	duration(b, v->to - v->since);
	mw_buf_str(b, "; Ruby's next major collections will show how much of it is garbage");
}

/* Flat, or up and down. */
static void rests(struct mw_buf *b, const struct mw_verdict *v)
{
	const char *what = known(v->now[MW_PART_RSS]) ? "RSS" : "live memory";

	mw_buf_str(b, "Nothing grows: ");
	mw_buf_str(b, what);
	if (v->kind == MW_VERDICT_FLAT) {
		mw_buf_str(b, " has been flat at ");
		bytes(b, v->level);
		mw_buf_str(b, " for ");
		duration(b, v->to - v->since);
	} else {
		mw_buf_str(b, " goes up and down, with a floor of ");
		bytes(b, v->level);
	}
}

static void ended(struct mw_buf *b, const struct mw_verdict *v)
{
	/* of what is told: RSS may have moved by more than live memory, or by less */
	double share = v->n && v->change > 0 ? v->locations[0].change / v->change : 0;

	mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "Live memory " : "RSS ");
	mw_buf_str(b, v->kind != MW_VERDICT_STEP ? "grew by " :
		      v->change < 0              ? "fell by " :
						   "stepped up by ");
	bytes(b, v->change);
	if (v->part == MW_PART_LIVE && share >= 0.25) {
		mw_buf_str(b, ", ");
		part_in_hundred(b, share < 1 ? share : 1);
		mw_buf_str(b, " of it at ");
		mw_verdict_short(b, &v->locations[0]);
	} else if (v->change > 0 && v->part != MW_PART_RSS && v->part != MW_PART_LIVE) {
		mw_buf_str(b, ", most of it ");
		mw_buf_str(b, part_titles[v->part]);
	}
	mw_buf_str(b, "; flat for ");
	duration(b, v->to - v->since);
	if (v->event) {
		mw_buf_str(b, " (");
		mw_buf_str(b, event_name(v->event));
		mw_buf_str(b, ")");
	}
}

static void explodes(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, v->part == MW_PART_LIVE ? "Live memory explodes: +" : "RSS explodes: +");
	bytes(b, v->change);
	mw_buf_str(b, " within the last minute");
	if (v->n && v->locations[0].change > v->change / 4) {
		mw_buf_str(b, ", ");
		part_in_hundred(b, v->locations[0].change < v->change ? v->locations[0].change / v->change :
									1);
		mw_buf_str(b, " of it at ");
		mw_verdict_short(b, &v->locations[0]);
	}
}

void mw_verdict_sentence(struct mw_buf *b, const struct mw_verdict *v)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
		grows(b, v);
		break;
	case MW_VERDICT_HEAP:
	case MW_VERDICT_FRAGMENTATION:
	case MW_VERDICT_NATIVE:
	case MW_VERDICT_FILES:
	case MW_VERDICT_STACKS:
		grows_elsewhere(b, v);
		break;
	case MW_VERDICT_EXPLODES:
		explodes(b, v);
		break;
	case MW_VERDICT_WARMING:
		warming(b, v);
		break;
	case MW_VERDICT_UNCOLLECTED:
		uncollected(b, v);
		break;
	case MW_VERDICT_FILLED:
	case MW_VERDICT_GREW:
	case MW_VERDICT_STEP:
		ended(b, v);
		break;
	case MW_VERDICT_FALLS:
		mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "Live memory falls by " : "RSS falls by ");
		per_time(b, v->rate);
		since(b, v);
		break;
	case MW_VERDICT_PAUSED:
		mw_buf_str(b, "Tracking is paused: growth can't be attributed to a line");
		break;
	case MW_VERDICT_WATCHING:
		mw_buf_str(b, "Watching: the first verdict comes in ");
		duration(b, v->watch);
		break;
	default:
		rests(b, v);
	}
	mw_buf_str(b, ".");
}

void mw_verdict_next(struct mw_buf *b, const struct mw_verdict *v)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
	case MW_VERDICT_EXPLODES:
		if (v->n)
			mw_buf_str(b, "That line's page lists its live blocks by size and age.");
		if (v->unproven)
			mw_buf_str(b, " Some of it may be garbage: few major collections have run since.");
		break;
	case MW_VERDICT_UNCOLLECTED:
		mw_buf_str(b, "GC.start in the process would free the garbage now.");
		break;
	case MW_VERDICT_HEAP:
		mw_buf_str(b, "Ruby keeps more objects: MwrapRack's /objects says which, and GC.compact "
			      "shows whether pages are only half used.");
		break;
	case MW_VERDICT_FRAGMENTATION:
		mw_buf_str(b, "POST /trim gives up to ");
		bytes(b, known(v->now[MW_PART_FREE]) ? v->now[MW_PART_FREE] : 0);
		mw_buf_str(b, " back. MALLOC_ARENA_MAX=2 or jemalloc slows its return. "
			      "/map shows it page by page.");
		break;
	case MW_VERDICT_NATIVE:
		mw_buf_str(b, "No line of malloc explains it: an extension or a runtime maps memory itself. "
			      "/map lists the mappings and their lines.");
		break;
	case MW_VERDICT_FILES:
		mw_buf_str(b, "The system takes pages of files back when it needs memory.");
		break;
	case MW_VERDICT_STACKS:
		mw_buf_str(b,
			   "Threads start and don't end, or use more of their stacks: Thread.list names them.");
		break;
	case MW_VERDICT_FILLED:
		mw_buf_str(b, "A cache that is full looks like this, and so does work that ended.");
		break;
	case MW_VERDICT_WARMING:
		mw_buf_str(b, "A later verdict will say whether it goes on.");
		break;
	case MW_VERDICT_PAUSED:
		mw_buf_str(b, "POST /resume turns tracking on.");
		break;
	default:
		break;
	}
}
