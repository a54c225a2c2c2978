/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held.c - see held.h. */
#include "held.h"

#include <stdlib.h>
#include <string.h>

#include "trend.h"

#define UNKNOWN __builtin_nan("")

enum {
	APART = 120, /* seconds between two proofs that are compared */
	BLOCKS_LEAST = 16 /* a few that grow are young again and again */
};

bool mw_helds_add(struct mw_helds *all, const struct mw_held *held)
{
	struct mw_held *to = &all->v[all->n % MW_HELDS];
	char *location = malloc(held->len + 1);

	if (!location)
		return false;
	memcpy(location, held->location, held->len);
	location[held->len] = '\0';
	free(to->location);
	*to = *held;
	to->location = location;
	all->n++;
	return true;
}

void mw_helds_free(struct mw_helds *all)
{
	for (size_t i = 0; i < MW_HELDS; i++)
		free(all->v[i].location);
	memset(all, 0, sizeof(*all));
}

void mw_helds_add_heap(struct mw_helds *all, double t, uint64_t bytes)
{
	if (all->heaps_n && !(t > all->heap[all->heaps_n - 1].t))
		return;
	if (all->heaps_n == MW_HELD_HEAPS) {
		all->heaps_n /= 2;
		for (uint32_t i = 0; i < all->heaps_n; i++)
			all->heap[i] = all->heap[2 * i];
	}
	all->heap[all->heaps_n++] = (struct mw_held_heap){ t, bytes };
}

bool mw_held_heaps(const struct mw_helds *all, double since, struct mw_held_heap *first,
		   struct mw_held_heap *last)
{
	uint32_t n = all ? all->heaps_n : 0, i = 0;

	while (i < n && all->heap[i].t < since)
		i++;
	if (i >= n || all->heap[n - 1].t - all->heap[i].t < APART)
		return false;
	*first = all->heap[i];
	*last = all->heap[n - 1];
	return true;
}

static bool is_of(const struct mw_held *h, const char *location, size_t len)
{
	return h->location && h->len == len && !memcmp(h->location, location, len);
}

const struct mw_held *mw_held_last(const struct mw_helds *all, const char *location, size_t len)
{
	const struct mw_held *last = NULL;

	for (size_t i = 0; all && i < MW_HELDS; i++)
		if (is_of(&all->v[i], location, len) && (!last || all->v[i].t > last->t))
			last = &all->v[i];
	return last;
}

static double all_of(const struct mw_held *h)
{
	return (double)h->kept + (double)h->garbage + (double)h->lost;
}

static double stays(const struct mw_held *h)
{
	return (double)h->kept + (double)h->lost;
}

/* The proof before the last one, if it isn't older than that, and not too near. */
static const struct mw_held *before(const struct mw_helds *all, const struct mw_held *last, double since,
				    double apart)
{
	const struct mw_held *one = NULL;

	for (size_t i = 0; i < MW_HELDS; i++) {
		const struct mw_held *h = &all->v[i];

		if (is_of(h, last->location, last->len) && h->t >= since && h->t <= last->t - apart &&
		    (!one || h->t > one->t))
			one = h;
	}
	return one;
}

static double kept_share(double kept, double grown)
{
	return kept <= 0 ? 0 : kept >= grown ? 1 : kept / grown;
}

double mw_held_part(const struct mw_held *h)
{
	return h && all_of(h) > 0 ? stays(h) / all_of(h) : UNKNOWN;
}

/* The less of what is kept of all, and of what is old: a cache lets go of that first. */
static double with_old(double of_all, const struct mw_held *last, double since, double then)
{
	double of_old, grown = all_of(last) - then;

	/* nearly all is kept: then its age says nothing; a block that grows is young again and again */
	if (of_all >= 0.8 || !(last->old_t >= since) || last->old_bytes - then < grown / 8)
		return of_all;
	of_old = kept_share(last->old_kept - then, last->old_bytes - then);
	return of_old < of_all ? of_old : of_all;
}

double mw_held_rate(const struct mw_helds *all, const char *location, size_t len, double apart)
{
	const struct mw_held *last = mw_held_last(all, location, len), *one;

	one = last ? before(all, last, 0, mw_larger(apart, APART)) : NULL;
	return one ? (stays(last) - stays(one)) / (last->t - one->t) : UNKNOWN;
}

bool mw_held_turns_over(const struct mw_helds *all, const char *location, size_t len)
{
	const struct mw_held *last = mw_held_last(all, location, len), *one = NULL;

	for (size_t i = 0; last && i < MW_HELDS; i++) {
		const struct mw_held *h = &all->v[i];

		if (is_of(h, location, len) && h->t <= last->old_t && (!one || h->t > one->t))
			one = h;
	}
	if (!one || last->blocks < BLOCKS_LEAST || stays(one) < MW_HELD_GROWN)
		return false;
	return last->old_kept < stays(one) / 2 &&
	       !(one->old_t == one->old_t && last->old_kept > one->old_kept * 1.1 + MW_HELD_GROWN);
}

bool mw_held_unclear(const struct mw_helds *all, const char *location, size_t len, double since)
{
	const struct mw_held *last = mw_held_last(all, location, len);

	return last && last->t >= since && (double)last->unclear > all_of(last) / 2;
}

/* Of what a location grew by between two proofs, the part that stays, which may have taken the place of garbage. */
static double share_between(const struct mw_held *one, const struct mw_held *last)
{
	double all = all_of(last) - all_of(one), kept = stays(last) - stays(one);
	double grown = all > kept ? all : kept;

	return grown < MW_HELD_GROWN ? 0 : kept_share(kept, grown);
}

/*
 * The first of three proofs or more since then, each of which saw more stay than the one before, and the last one by half
 * as much as all of them: garbage evens out over their time. NULL: there are none.
 */
static const struct mw_held *first_of_rise(const struct mw_helds *all, const struct mw_held *last,
					   double since)
{
	const struct mw_held *later = last, *one = before(all, last, since, APART);
	double rate = one ? (stays(last) - stays(one)) / (last->t - one->t) : 0;
	unsigned n = 1;

	for (; one && stays(later) - stays(one) >= MW_HELD_GROWN; n++) {
		later = one;
		one = before(all, one, since, APART);
	}
	return n >= 3 && rate > (stays(last) - stays(later)) / (last->t - later->t) / 2 ? later : NULL;
}

bool mw_held_rises(const struct mw_helds *all, const char *location, size_t len, double since,
		   struct mw_held_rise *rise)
{
	const struct mw_held *last = mw_held_last(all, location, len), *first;

	first = last && last->t >= since ? first_of_rise(all, last, since) : NULL;
	if (!first || mw_held_turns_over(all, location, len))
		return false;
	*rise = (struct mw_held_rise){ first->t, last->t, stays(last) - stays(first), stays(last) };
	return true;
}

double mw_held_share(const struct mw_helds *all, const char *location, size_t len, double since, double then)
{
	const struct mw_held *last = mw_held_last(all, location, len), *one, *first;
	double grown, lately, longer;

	if (!last || last->t < since || mw_held_unclear(all, location, len, since))
		return UNKNOWN;
	if (mw_held_turns_over(all, location, len))
		return 0;
	grown = all_of(last) - then;
	one = before(all, last, since, APART);
	if (!one)
		return grown < MW_HELD_GROWN ?
			       UNKNOWN :
			       with_old(kept_share(stays(last) - then, grown), last, since, then);
	lately = share_between(one, last);
	first = first_of_rise(all, last, since);
	longer = first ? share_between(first, last) : 0;
	return with_old(longer > lately ? longer : lately, last, since, then);
}
