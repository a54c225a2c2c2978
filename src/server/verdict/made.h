/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made.h - the line that made Ruby's objects that stay. For the judgement; pure functions. */
#pragma once

#include "verdict.h"

/*
 * Of what stays and was made in that time, the line with the most bytes. samples is 0 if too few samples say so, the line
 * has too little of it, hardly more than the next one, or none of late, or what stays explains too little of what Ruby's heap has grown by: `grown` bytes. The latest
 * objects aren't known to stay yet. So the growth counts up to the time of which what stays is. NaN: not known.
 */
void mw_made_find(const struct mw_evidence *, double since, double to, double grown,
		  struct mw_verdict_made *);
/* Bytes that stay and were made since then; 0: too few samples to tell. */
double mw_made_bytes(const struct mw_evidence *, double since);
