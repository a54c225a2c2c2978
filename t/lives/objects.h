/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects.h - samples of Ruby's objects in a made-up process, and whether sentences about their lines are true.
 *
 * A line's kept memory has slots in Ruby's heap. A part may keep slots alone: those have a line of their own.
 * A sample stands for some bytes of these. Samples come in clusters, as those of one window are of one line. A sample is
 * dead from the first major collection on after its object was dropped, and it stays once it outlived two.
 */
#ifndef LIVES_OBJECTS_H
#define LIVES_OBJECTS_H

#include "life.h"

extern bool objects_on; /* off: verdicts know no samples */

void objects_begin(const struct life *);
/* After the life's. */
void objects_second(const struct life *, double t);
/* Those that stay. */
const struct mw_object_stay *objects_stays(size_t *n);
/* Is the line that made most of them the right one? */
void objects_judge(const struct life *, const struct mw_verdict *, double t);
/* Sums of all lives so far: a name and a number each line. */
void objects_print(void);

#endif
