/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * found.h - for test programs: what the tracker found of overruns and stray
 * frees is what was done. Natively nothing is looked up, and the same is said.
 * Each location is printed as "# found FUNCTION BLOCKS LAST_SIZE LOCATION".
 */
#pragma once

#include "site.h"

__attribute__((unused)) static struct mw_stats stats(void)
{
	struct mw_stats s = { 0 };

	if (tracker())
		tracker()->stats(&s);
	return s;
}

/* Of a function's rows. */
__attribute__((unused)) static void found_at(const char *function, uint64_t blocks, uint64_t last_size)
{
	const struct mw_api *t = tracker();
	struct mw_snapshot *s = t ? t->snapshot() : NULL;
	uint64_t n = 0, size = 0;
	size_t i;

	for (i = 0; s && i < s->n; i++) {
		if (!is_at(&s->rows[i], function))
			continue;
		n += s->rows[i].overruns;
		if (s->rows[i].overruns) {
			size = s->rows[i].overrun_size;
			say("# found %s %lu %lu %s\n", function, s->rows[i].overruns, size,
			    s->rows[i].location);
		}
	}
	if (s)
		t->snapshot_free(s);
	if (!check(!t || (n == blocks && size == (blocks ? last_size : 0)), "overruns of %s", function))
		say("# found %lu, last %lu; want %lu, last %lu\n", n, size, blocks, last_size);
}

/* In all, and nothing else. */
__attribute__((unused)) static void found(uint64_t overruns, uint64_t doubles, uint64_t unknown)
{
	struct mw_stats s = stats();

	if (!check(!tracker() || (s.overruns == overruns && s.double_frees == doubles &&
				  s.unknown_frees == unknown),
		   "nothing else was found"))
		say("# overruns %lu double %lu unknown %lu, want %lu %lu %lu\n", s.overruns,
		    s.double_frees, s.unknown_frees, overruns, doubles, unknown);
}
