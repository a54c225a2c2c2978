/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict_words.c - a verdict as a sentence. See verdict.h.
 *
 * Numbers are made from integers: printf's would follow the app's locale.
 */
#include <string.h>

#include "verdict.h"
#include "words.h"

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
	[MW_VERDICT_THREADS] = "threads",
	[MW_VERDICT_DESCRIPTORS] = "descriptors",
	[MW_VERDICT_DISABLED] = "disabled",
	[MW_VERDICT_SPIKE] = "spike",
	[MW_VERDICT_TRACKER] = "tracker",
};

const char *mw_verdict_name(enum mw_verdict_kind kind)
{
	return kinds[kind];
}

bool mw_verdict_grows(enum mw_verdict_kind kind)
{
	return kind == MW_VERDICT_GROWS || kind == MW_VERDICT_EXPLODES || kind == MW_VERDICT_HEAP ||
	       kind == MW_VERDICT_FRAGMENTATION || kind == MW_VERDICT_NATIVE ||
	       kind == MW_VERDICT_FILES || kind == MW_VERDICT_STACKS || kind == MW_VERDICT_THREADS ||
	       kind == MW_VERDICT_DESCRIPTORS || kind == MW_VERDICT_DISABLED;
}

/* --- clauses -------------------------------------------------------------------- */

static const char *event_name(const struct mw_event *e)
{
	return !strcmp(e->kind, "annotation") ? e->text : e->kind;
}

static void since(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, " for ");
	mw_words_duration(b, v->to - v->since);
	if (v->event) {
		mw_buf_str(b, ", since ");
		mw_buf_str(b, event_name(v->event));
	}
}

/* Live memory grew, RSS by less than a quarter of that. */
static void why_not_rss(struct mw_buf *b, const struct mw_verdict *v)
{
	double less = v->moved[MW_PART_LIVE] - v->moved[MW_PART_RSS], freed = v->moved[MW_PART_FREE];

	mw_buf_str(b, "; RSS doesn't grow yet");
	if (mw_known(freed))
		mw_buf_str(b, -freed * 2 >= less ? ", since live memory fills what was free" :
						   ", since most of it isn't in RAM");
}

/* "; it explains 96 % of RSS's growth" */
static void explains(struct mw_buf *b, double part, double rss)
{
	double share = part < rss ? part / rss : 1;

	if (!(rss > 0) || !(part > 0))
		return;
	mw_buf_str(b, share < 0.5 ? "; it explains only " : "; it explains ");
	mw_words_share(b, share);
	mw_buf_str(b, " of RSS's growth");
}

static void beside_rss(struct mw_buf *b, const struct mw_verdict *v)
{
	double rss = v->moved[MW_PART_RSS], live = v->moved[MW_PART_LIVE];

	if (!mw_known(rss) || !mw_known(live) || !(live > 0))
		return;
	if (rss * 4 < live)
		why_not_rss(b, v);
	else
		explains(b, live, rss);
}

/* One String, Array or table. */
static void doubles(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_verdict_short(b, &v->locations[0]);
	mw_buf_str(b, v->held && v->held->blocks == 1 ? " has one block that grows: it doubled " :
							" grows: its memory doubled ");
	mw_words_number(b, v->doubled, " time", " times");
	mw_buf_str(b, " in ");
	mw_words_duration(b, v->to - v->since);
	mw_buf_str(b, ", to ");
	mw_words_bytes(b, v->level);
	mw_words_kept_by(b, v);
}

static void grows(struct mw_buf *b, const struct mw_verdict *v)
{
	if (v->doubled && v->n) {
		doubles(b, v);
		return;
	}
	if (v->kept_lines > 1) {
		mw_buf_str(b, "Live memory that is kept grows by ");
		mw_words_rate(b, v->rate);
		since(b, v);
		mw_buf_str(b, ", beneath memory that comes and goes: ");
		mw_words_where(b, v);
		mw_words_kept_by(b, v);
		return;
	}
	if ((v->at_location || v->kept_lines) && v->n) {
		mw_verdict_short(b, &v->locations[0]);
		mw_buf_str(b, " grows by ");
		mw_words_rate(b, v->rate);
		since(b, v);
		mw_buf_str(b, ", beneath memory that comes and goes");
		mw_words_kept_by(b, v);
		return;
	}
	mw_buf_str(b, "Live memory grows by ");
	mw_words_rate(b, v->rate);
	since(b, v);
	if (v->n) {
		mw_buf_str(b, ", ");
		mw_words_where(b, v);
		mw_words_kept_by(b, v);
	}
	beside_rss(b, v);
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

static const char *const part_begins[MW_PARTS_N] = {
	[MW_PART_RSS] = "RSS",
	[MW_PART_LIVE] = "Live memory",
	[MW_PART_HEAP] = "Ruby's heap",
	[MW_PART_FREE] = "Free memory in malloc's arenas",
	[MW_PART_ANON] = "Memory outside malloc, from mmap,",
	[MW_PART_FILES] = "Mapped files",
	[MW_PART_STACKS] = "Threads' stacks",
	[MW_PART_TRACKER] = "The tracker's own memory",
};

static const char *part_title(const struct mw_verdict *v)
{
	return v->same_threads ? "stacks of Fibers, or of deeper calls" : part_titles[v->part];
}

static const char *part_begin(const struct mw_verdict *v)
{
	return v->same_threads ? "Stacks of Fibers, or of deeper calls," : part_begins[v->part];
}

/* Live memory is enough of what RSS grows by. Of a Fiber it is little, but its line made the Fiber. */
static bool tells_line(const struct mw_verdict *v)
{
	double rss = v->moved[MW_PART_RSS], live = v->moved[MW_PART_LIVE];

	return mw_known(rss) && mw_known(live) && live > rss / (v->same_threads ? 50 : 10) && v->n &&
	       v->locations[0].share >= 0.25;
}

/* RSS grows, and that part of it most. */
static void grows_elsewhere(struct mw_buf *b, const struct mw_verdict *v)
{
	double rss = v->moved[MW_PART_RSS], part = v->moved[v->part], live = v->moved[MW_PART_LIVE];
	bool heap = v->rate_of == MW_PART_HEAP;

	mw_buf_str(b, v->rate_of == v->part ? part_begin(v) : "RSS");
	mw_buf_str(b, v->rate_of == v->part && (v->part == MW_PART_STACKS || v->part == MW_PART_FILES) ?
			      " grow by " :
			      " grows by ");
	mw_words_rate(b, v->rate);
	since(b, v);
	if (v->rate_of == v->part && !heap) {
		mw_buf_str(b, ", beneath memory that comes and goes");
		if (v->same_threads && tells_line(v)) {
			mw_buf_str(b, "; live memory grows most at ");
			mw_verdict_short(b, &v->locations[0]);
		}
		return;
	}
	if (heap) {
		explains(b, part, rss);
	} else if (mw_known(rss) && mw_known(part) && rss > 0 && part > 0) {
		mw_buf_str(b, ": ");
		mw_words_share(b, part < rss ? part / rss : 1);
		mw_buf_str(b, " of it is ");
		mw_buf_str(b, part_title(v));
	} else {
		mw_buf_str(b, ": most of it is ");
		mw_buf_str(b, part_title(v));
	}
	if (v->part == MW_PART_FREE && mw_known(v->now[MW_PART_FREE]) && mw_known(v->now[MW_PART_RSS])) {
		mw_buf_str(b, ", now ");
		mw_words_bytes(b, v->now[MW_PART_FREE]);
		mw_buf_str(b, " of ");
		mw_words_bytes(b, v->now[MW_PART_RSS]);
	}
	if (tells_line(v)) {
		mw_buf_str(b, "; ");
		mw_words_share(b, live < rss ? live / rss : 1);
		mw_buf_str(b, heap ? " of that is live memory, most at " : " is live, most at ");
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
	mw_words_bytes(b, v->change);
	mw_buf_str(b, " in ");
	mw_words_duration(b, v->to - v->since);
	mw_buf_str(b, ", soon after the start");
}

static void so_much_there(struct mw_buf *b, double part, const struct mw_held *h)
{
	mw_buf_str(b, ": ");
	mw_words_bytes(b, part);
	mw_buf_str(b, " of ");
	mw_words_bytes(b, (double)(h->kept + h->garbage + h->lost));
}

/* Says what the last proof saw at the line. False: that explains nothing, and is not said. */
static bool last_look(struct mw_buf *b, const struct mw_held *h)
{
	if (h->kept > 4 * (h->garbage + h->lost)) {
		so_much_there(b, (double)h->kept, h);
		mw_buf_str(b, " there was kept at the last look");
		if (h->owner[0]) {
			mw_buf_str(b, ", by ");
			mw_buf_tsv(b, h->owner, strlen(h->owner));
		}
		mw_buf_str(b, "; the next one will show whether the rest is, too");
		return true;
	}
	if (h->garbage <= h->unclear)
		return false;
	so_much_there(b, (double)(h->garbage - h->unclear), h);
	mw_buf_str(b, " there was garbage at the last look, which no major collection has freed yet");
	return true;
}

/* Live memory rose, and a proof says how much of it is garbage; or none does yet. */
static void uncollected(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, "Live memory rose by ");
	mw_words_bytes(b, v->change);
	mw_buf_str(b, " in ");
	mw_words_duration(b, v->to - v->since);
	if (v->n) {
		mw_buf_str(b, ", ");
		mw_words_where(b, v);
	}
	if (!v->held || !mw_known(v->kept) || !last_look(b, v->held))
		mw_buf_str(b,
			   v->awaits ?
				   "; whether it is garbage is being looked into" :
				   "; Ruby's next major collections will show how much of it is garbage");
	mw_words_no_proof(b, v);
}

/* --- what is counted ------------------------------------------------------------ */

/* "; RSS grows by 6.50 MB a minute with them, most at app.rb:2" */
static void with_them(struct mw_buf *b, const struct mw_verdict *v)
{
	if (v->rate * 60 >= 100 * 1024) {
		mw_buf_str(b, "; RSS grows by ");
		mw_words_rate(b, v->rate);
		mw_buf_str(b, " with them");
	}
	if (v->n && v->locations[0].share >= 0.25) {
		mw_buf_str(b, ", most of what is live at ");
		mw_verdict_short(b, &v->locations[0]);
	}
	mw_words_kept_by(b, v);
}

/* "Threads grow by 60 a minute for 9 min, to 560" */
static void counted(struct mw_buf *b, const struct mw_verdict *v)
{
	double window = v->to - v->since, minute = window > 0 ? v->count_gain / window * 60 : 0;
	bool slow = minute < 1;

	mw_buf_str(b, v->kind == MW_VERDICT_THREADS ? "Threads grow by " : "Open descriptors grow by ");
	mw_buf_u64(b, (uint64_t)((slow ? minute * 60 : minute) + 0.5));
	mw_buf_str(b, slow ? " an hour" : " a minute");
	since(b, v);
	mw_buf_str(b, ", to ");
	mw_buf_commas(b, (uint64_t)(v->count + 0.5));
	with_them(b, v);
}

static void disabled(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, "No garbage collection has run for ");
	mw_words_duration(b, v->idle);
	mw_buf_str(b, v->disabled ? ", for GC is disabled: " : ": ");
	mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "live memory" : "RSS");
	mw_buf_str(b, " grows by ");
	mw_words_rate(b, v->rate);
}

static void spike(struct mw_buf *b, const struct mw_verdict *v, const struct mw_grower *beside)
{
	mw_buf_str(b, "A spike of ");
	mw_words_bytes(b, v->spike);
	if (v->n) {
		mw_buf_str(b, " at ");
		mw_verdict_short(b, &v->locations[0]);
	}
	mw_buf_str(b, " ended ");
	mw_words_duration(b, v->to - v->spike_end);
	mw_buf_str(b, " ago: ");
	mw_words_bytes(b, v->now[MW_PART_FREE]);
	mw_buf_str(b, " of ");
	mw_words_bytes(b, v->now[MW_PART_RSS]);
	mw_buf_str(b, " of RSS is free memory in malloc's arenas");
	if (beside)
		mw_words_beside(b, ", and ", v, beside);
	else
		mw_buf_str(b, ", and nothing grows");
}

/* Flat, or up and down; without "Nothing grows" if a line does. */
static void rests(struct mw_buf *b, const struct mw_verdict *v, const struct mw_grower *beside)
{
	const char *what = mw_known(v->now[MW_PART_RSS]) ? "RSS" :
			   beside                        ? "Live memory" :
							   "live memory";

	if (!beside)
		mw_buf_str(b, "Nothing grows: ");
	else if (mw_words_slowly(b, v, beside))
		mw_buf_str(b, ". ");
	mw_buf_str(b, what);
	if (v->kind == MW_VERDICT_FLAT) {
		mw_buf_str(b, " has been flat at ");
		mw_words_bytes(b, v->level);
		mw_buf_str(b, " for ");
		mw_words_duration(b, v->to - v->since);
		if (mw_verdict_much_free(v)) {
			mw_buf_str(b, "; ");
			mw_words_bytes(b, v->now[MW_PART_FREE]);
			mw_buf_str(b, " of it is free memory in malloc's arenas");
		}
	} else {
		mw_buf_str(b, " goes up and down, and comes back to ");
		mw_words_bytes(b, v->level);
	}
	if (beside && !mw_verdict_is_slow(v, beside))
		mw_words_beside(b, ", though ", v, beside);
}

static void ended(struct mw_buf *b, const struct mw_verdict *v)
{
	/* of what is told: RSS may have moved by more than live memory, or by less */
	double share = v->n && v->change > 0 ? v->locations[0].change / v->change : 0;

	mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "Live memory " : "RSS ");
	mw_buf_str(b, v->kind != MW_VERDICT_STEP ? "grew by " :
		      v->change < 0              ? "fell by " :
						   "stepped up by ");
	mw_words_bytes(b, v->change);
	if (v->unsteady || v->stopped) {
		mw_buf_str(b, " in ");
		mw_words_duration(b, v->to - v->since);
		mw_buf_str(b, v->unsteady ? ", not steadily" : "");
		if (v->unsteady && v->in_start > 0 && v->in_start >= v->change / 4) {
			mw_buf_str(b, " (");
			mw_words_share(b, v->in_start / v->change);
			mw_buf_str(b, " of that in the first minute)");
		}
	}
	if (v->part == MW_PART_LIVE && share >= 0.25) {
		mw_buf_str(b, ", ");
		mw_words_share(b, share < 1 ? share : 1);
		mw_buf_str(b, " of it at ");
		mw_verdict_short(b, &v->locations[0]);
	} else if (v->change > 0 && v->part != MW_PART_RSS && v->part != MW_PART_LIVE) {
		mw_buf_str(b, ", most of it ");
		mw_buf_str(b, part_titles[v->part]);
	}
	if (v->stopped) {
		mw_buf_str(b, ", which grows no more");
	} else if (!v->unsteady) {
		mw_buf_str(b, "; flat for ");
		mw_words_duration(b, v->to - v->since);
	}
	if (v->event) {
		mw_buf_str(b, " (");
		mw_buf_str(b, event_name(v->event));
		mw_buf_str(b, ")");
	}
}

static void explodes(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, v->part == MW_PART_LIVE ? "Live memory rose by " : "RSS rose by ");
	mw_words_bytes(b, v->change);
	mw_buf_str(b, " within the last minute");
	if (v->n && v->locations[0].change > v->change / 4) {
		mw_buf_str(b, ", ");
		mw_words_share(b,
			       v->locations[0].change < v->change ? v->locations[0].change / v->change : 1);
		mw_buf_str(b, " of it at ");
		mw_verdict_short(b, &v->locations[0]);
	}
	/* else it would be told of live memory */
	if (v->part == MW_PART_RSS && mw_known(v->now[MW_PART_HEAP]) &&
	    v->moved[MW_PART_LIVE] > v->change / 2)
		mw_buf_str(b, "; it may be garbage, which the next major collection frees");
}

void mw_words_sentence(struct mw_buf *b, const struct mw_verdict *v, const struct mw_grower *beside)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
		grows(b, v);
		mw_words_made(b, v);
		mw_words_label(b, v);
		mw_words_no_proof(b, v);
		break;
	case MW_VERDICT_HEAP:
	case MW_VERDICT_FRAGMENTATION:
	case MW_VERDICT_NATIVE:
	case MW_VERDICT_FILES:
	case MW_VERDICT_STACKS:
	case MW_VERDICT_TRACKER:
		grows_elsewhere(b, v);
		mw_words_made(b, v);
		break;
	case MW_VERDICT_THREADS:
	case MW_VERDICT_DESCRIPTORS:
		counted(b, v);
		break;
	case MW_VERDICT_DISABLED:
		disabled(b, v);
		break;
	case MW_VERDICT_SPIKE:
		spike(b, v, beside);
		break;
	case MW_VERDICT_EXPLODES:
		explodes(b, v);
		mw_words_made(b, v);
		mw_words_label(b, v);
		break;
	case MW_VERDICT_WARMING:
		warming(b, v);
		mw_words_made(b, v);
		break;
	case MW_VERDICT_UNCOLLECTED:
		uncollected(b, v);
		break;
	case MW_VERDICT_FILLED:
	case MW_VERDICT_GREW:
	case MW_VERDICT_STEP:
		ended(b, v);
		mw_words_made(b, v);
		break;
	case MW_VERDICT_FALLS:
		mw_buf_str(b, v->rate_of == MW_PART_LIVE ? "Live memory falls by " : "RSS falls by ");
		mw_words_rate(b, v->rate);
		since(b, v);
		break;
	case MW_VERDICT_PAUSED:
		mw_buf_str(b, "Tracking is paused: growth can't be attributed to a line");
		break;
	case MW_VERDICT_WATCHING:
		mw_buf_str(b, "Watching: the first verdict comes in ");
		mw_words_duration(b, v->watch);
		break;
	default:
		rests(b, v, beside);
	}
	mw_buf_str(b, ".");
	mw_words_reach(b, &v->reach);
}

void mw_verdict_sentence(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_words_sentence(b, v, mw_verdict_beside(v));
}
