/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict_next.c - the reader's next step. See verdict.h. */
#include "verdict.h"
#include "words.h"

#include <string.h>

/* At a location that is no line. */
static void look_at_special(struct mw_buf *b, const struct mw_verdict_location *l)
{
	if (l->len == strlen(MW_LOCATION_JIT) && !memcmp(l->location, MW_LOCATION_JIT, l->len))
		mw_buf_str(b,
			   "Ruby still compiles code. --yjit-mem-size or --zjit-mem-size limits what its JIT takes.");
}

/* A next step that works in a browser, in a terminal and in Ruby. */
static void look_at_line(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_spread *of = v->n ? mw_verdict_together(v) : NULL;

	if (!v->n)
		return;
	if (!of && v->locations[0].kind == MW_KIND_SPECIAL) {
		look_at_special(b, &v->locations[0]);
		return;
	}
	if (of)
		mw_buf_str(b, of == &v->gem ? "The table with group=gem has its lines. " :
					      "The table with group=file has its lines. ");
	if (!mw_verdict_at(v)) /* then no page would be that line's */
		return;
	mw_buf_str(b, "That line's page lists its live blocks by size and age. `mwrapctl who ");
	mw_verdict_short(b, &v->locations[0]);
	mw_buf_str(b, "` and Mwrap.holders in the process say what keeps them.");
	if (v->unproven)
		mw_buf_str(b, " Some of it may be garbage: few major collections have run since.");
}

static void advise_trim(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_buf_str(b, "POST /trim gives up to ");
	mw_words_bytes(b, mw_known(v->now[MW_PART_FREE]) ? v->now[MW_PART_FREE] : 0);
	mw_buf_str(b, " back. ");
}

void mw_verdict_next(struct mw_buf *b, const struct mw_verdict *v)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
	case MW_VERDICT_EXPLODES:
		look_at_line(b, v);
		break;
	case MW_VERDICT_UNCOLLECTED:
		mw_buf_str(b, v->awaits ? "A proof follows within minutes: what keeps these blocks, and how many are "
					  "garbage." :
					  "GC.start in the process would free the garbage now.");
		break;
	case MW_VERDICT_DISABLED:
		mw_buf_str(b, v->disabled ?
				      "GC.enable in the process lets Ruby collect again." :
				      "Is GC disabled, or does an extension hold it off? GC.enable in the "
				      "process lets Ruby collect again.");
		break;
	case MW_VERDICT_THREADS:
		mw_buf_str(b, "Threads start and don't end: Thread.list in the process names them. ");
		look_at_line(b, v);
		break;
	case MW_VERDICT_DESCRIPTORS:
		mw_buf_str(b, "`ls -l /proc/PID/fd` lists them. ObjectSpace.each_object(IO) in the process finds "
			      "those that Ruby has.");
		break;
	case MW_VERDICT_SPIKE:
		advise_trim(b, v);
		mw_buf_str(b, "/map shows what keeps the rest from going back.");
		break;
	case MW_VERDICT_TRACKER:
		mw_buf_str(b, "/stats.json says what it is for; the option memory_max limits it.");
		break;
	case MW_VERDICT_HEAP:
		mw_buf_str(b, "Ruby keeps more objects: MwrapRack's /objects says which, and GC.compact "
			      "shows whether pages are only half used.");
		break;
	case MW_VERDICT_FRAGMENTATION:
		advise_trim(b, v);
		mw_buf_str(b,
			   "MALLOC_ARENA_MAX=2 or jemalloc slows its return. /map shows it page by page.");
		break;
	case MW_VERDICT_NATIVE:
		mw_buf_str(b, "No line of malloc explains it: an extension or a runtime maps memory itself. "
			      "/map lists the mappings and their lines.");
		break;
	case MW_VERDICT_FILES:
		mw_buf_str(b, "The system takes pages of files back when it needs memory.");
		break;
	case MW_VERDICT_STACKS:
		if (v->same_threads) {
			mw_buf_str(b, "Fibers start and don't end, or calls go deeper: no threads were added. "
				      "ObjectSpace.each_object(Fiber) in the process finds the Fibers.");
			break;
		}
		mw_buf_str(b, "Threads or Fibers start and don't end, or use more of their stacks. Thread.list names the "
			      "threads, ObjectSpace.each_object(Fiber) finds the Fibers.");
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
		if (mw_verdict_much_free(v)) {
			advise_trim(b, v);
			mw_buf_str(b, "/map shows it page by page.");
		}
	}
}
