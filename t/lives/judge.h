/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge.h - for judge.c and accused.c alone: what a sentence accuses, and whether that grew. */
#ifndef LIVES_JUDGE_H
#define LIVES_JUDGE_H

#include "play.h"

/* The time that a sentence tells of. */
struct window {
	double from, to, late; /* late: what is said in the present must have gone on since then */
};

/* Has a series, or a part, grown in that time by `least` bytes or more, and does it still grow? */
bool rises(const float *v, const struct window *, double least);
bool part_rises(const struct part *, const struct window *, double least);
double rise(const float *v, double from, double to);

bool line_rises(const struct life *, const struct line *, const struct window *, double said);

/* NULL: there is no such line. */
const struct line *line_of(const struct life *, const struct mw_verdict_location *);
/* The sentence names the first location if that has much of it. */
bool names_line(const struct mw_verdict *);

/* The number of the part that a true accusation is about. */
enum { OF_APP = -1, /* what the app itself does */ OF_NONE = -2 /* it is false */ };
int accused(const struct life *, const struct mw_verdict *, const struct window *, const char *sentence);

#endif
