/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.h - shared by the files of the judgement. verdict.c has the order of the kinds.
 *
 * All are pure functions. A judge_ function fills the verdict and returns true, or returns false and
 * changes nothing.
 */
#ifndef MW_VERDICT_JUDGE_H
#define MW_VERDICT_JUDGE_H

#include "look.h"
#include "verdict.h"

/* judge.c: a verdict of that kind about a course of one part of RSS. */
void mw_judge_say(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *,
		  enum mw_verdict_kind, enum mw_rss_part, const struct mw_trend *);

/*
 * growth.c. A growth of one of the ranges. *waits: the first range with a growth of live memory whose proof is
 * to come, or which is garbage. *stopped: one whose line has stopped. NULL: none.
 */
bool mw_judge_growth(struct mw_verdict *, const struct mw_evidence *, struct mw_look *looks, size_t n,
		     const struct mw_look **waits, const struct mw_look **stopped);
bool mw_judge_explosion(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *);
/*
 * Where arenas aren't known, what an allocator takes beside its blocks, and what it keeps of freed ones, counts as memory
 * outside malloc. The one grows with the blocks and by less, the other is no more than what comes and goes of them. Is a
 * part's gain since then so little?
 */
bool mw_may_be_malloc(const struct mw_look *, enum mw_rss_part, double since, double gain);
/* Live memory rose, and the line that made it rise has stopped. */
void mw_judge_filled(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *);
/* Live memory comes and goes above a line's growth, of which a proof has seen most kept. */
bool mw_judge_line(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *);
/* Live memory rose, and may fall again. */
void mw_judge_uncollected(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *);
/* RSS rose since `from`, and no one course explains it. */
void mw_judge_unsteady(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *,
		       double from);

/* rest.c */
bool mw_judge_ended(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks,
		    size_t n, enum mw_rss_part of);
bool mw_judge_fall(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks, size_t n);
void mw_judge_rest(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks, size_t n);

/* suspect.c: the last step. Adds what proofs say to any verdict, and the lines that the next one should look at. */
void mw_judge_add_proof(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks,
			size_t n);

/* measure.c: what changed in a window: the parts, and the locations, files and gems with most of it. */
void mw_judge_measure(struct mw_verdict *, const struct mw_look *, double from, double to, mw_change_fn *);

/* measure.c: the location whose own rise is the growth comes first. */
void mw_judge_put_first(struct mw_verdict *, const struct mw_look *);

/* kept.c */
enum mw_keeps {
	MW_KEEPS, /* by proof, or by what major collections left */
	MW_KEEPS_LIKELY, /* by one line that never fell */
	MW_KEEPS_NOT, /* most of it is garbage, or may be */
};
/* Memory that lived at the end of the start is no growth: that time, if it is later than `since` and has come. */
double mw_after_start(const struct mw_evidence *, const struct mw_look *, double since);
/*
 * Of live memory's growth since then, the part that proofs say is kept: 0 to 1. NaN: proofs know less
 * than half of it.
 */
double mw_kept_share(const struct mw_evidence *, const struct mw_look *, double since);
/* The same of one location's growth. */
double mw_kept_at(const struct mw_evidence *, const struct mw_look *, const char *location, size_t len,
		  double since);
/* Has Ruby's heap grown for good by that course? */
bool mw_heap_keeps(const struct mw_evidence *, const struct mw_look *, const struct mw_trend *);
/* Is a growth of that part more than garbage that waits for a collection? */
enum mw_keeps mw_kept(const struct mw_evidence *, struct mw_look *, enum mw_rss_part);
/* A young process, and a rise that slows down, or may still. */
bool mw_warms_up(const struct mw_evidence *, const struct mw_look *, const struct mw_trend *);

/* Lines that rise by themselves, and of which proofs say that they keep it, whatever all live memory does. */
bool mw_judge_kept_lines(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks,
			 size_t n);

/*
 * Does the line whose series is in t[] and v[] keep what it gained by that rise, and go on? unproven: it is
 * enough that it never fell, though some major collections ran.
 */
bool mw_line_keeps(const struct mw_evidence *, const struct mw_look *, const struct mw_curve *,
		   const struct mw_trend *, bool unproven);

/* growers.c. The locations that grow by themselves; and whichever the verdict says does. */
void mw_judge_growers(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks,
		      size_t n);

/* stopped.c. A line has gained that since then: has it stopped, as far as its curve and proofs show? */
bool mw_curve_stopped(const struct mw_evidence *, const struct mw_look *, const struct mw_curve *,
		      double since, double gain);
bool mw_line_stopped(const struct mw_evidence *, const struct mw_look *,
		     const struct mw_verdict_location *, double since);
/* By how much it has come to a new high since a time. */
double mw_line_late(const struct mw_look *, const struct mw_verdict_location *, double from);
/* Has what is told to grow stopped, or fallen by much of that? */
bool mw_accused_stopped(const struct mw_evidence *, const struct mw_look *looks, size_t n);
/* The line that rises by itself most, and hasn't stopped, is `top` from here on, and stands for the growth. */
bool mw_next_line(const struct mw_evidence *, struct mw_look *);

/* counted.c: looks are from short to long */
bool mw_judge_disabled(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks);
/*
 * of: the part whose growth the number must explain; RSS: live memory's, too. LIVE: only threads' stacks do. PARTS_N:
 * none, since nothing else is known to grow for good.
 */
bool mw_judge_counts(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks,
		     size_t n, enum mw_rss_part of);

/* stairs.c: one block, or a table, that doubles. */
bool mw_judge_stairs(struct mw_verdict *, const struct mw_evidence *, struct mw_look *looks, size_t n);

/* spike.c */
bool mw_judge_spike(struct mw_verdict *, const struct mw_evidence *, const struct mw_look *looks, size_t n);

#endif
