/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranges.h"

static bool fills(struct mw_range x, uintptr_t window)
{
	return x.start <= window << MW_RANGE_WINDOW && x.end >= (window + 1) << MW_RANGE_WINDOW;
}

size_t mw_ranges_windows(struct mw_ranges *s)
{
	s->n_windows = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		struct mw_range x = s->at(s->of, i);

		for (uintptr_t w = x.start >> MW_RANGE_WINDOW; w <= (x.end - 1) >> MW_RANGE_WINDOW; w++)
			if (fills(x, w))
				s->windows[w] = MW_RANGE_FULL | i;
			else if (!s->windows[w])
				s->windows[w] = ++s->n_windows;
	}
	return (size_t)s->n_windows * MW_RANGE_PAGES * sizeof(*s->first);
}

void mw_ranges_fill(struct mw_ranges *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct mw_range x = s->at(s->of, i);

		for (uintptr_t p = x.start >> MW_RANGE_PAGE; p <= (x.end - 1) >> MW_RANGE_PAGE; p++) {
			uint32_t w = s->windows[p >> (MW_RANGE_WINDOW - MW_RANGE_PAGE)], *first;

			if (w & MW_RANGE_FULL) { /* and so are all up to the range's last window */
				p = (x.end & -((uintptr_t)1 << MW_RANGE_WINDOW)) >> MW_RANGE_PAGE;
				p--;
				continue;
			}
			first = &s->first[(size_t)(w - 1) * MW_RANGE_PAGES + p % MW_RANGE_PAGES];
			if (!*first)
				*first = i + 1;
		}
	}
}
