/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts.c - when smaps is read, and what follows from it. See parts.h. */
#include "parts.h"

#include "shared/sys/clock.h"

enum {
	LARGE = (128 << 10) - 16, /* bytes: glibc maps blocks from here on, at first */
	OVERHEAD = 24 /* of a block in an arena: its size, the tracker's tail, on average 8 to round up */
};
#define CHANGE_LEAST ((uint64_t)2 << 20)

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t mw_parts_tracker(const struct mw_stats *s)
{
	return s->tracker_bytes + s->held[MW_HELD_SERVER];
}

static void figure_out(struct mw_parts *parts, const struct mw_smaps *m, const struct mw_places *places,
		       const struct mw_stats *s)
{
	uint64_t known = (s->heap_known ? s->heap_bytes : 0) + mw_parts_tracker(s);

	parts->stacks = mw_kib(m->stacks);
	parts->glibc = places->arenas;
	parts->arenas = m->arenas;
	parts->outside = m->outside;
	parts->outside_n = m->outside_n;
	if (places->arenas) {
		parts->anon = mw_kib(less(m->anon, m->large + known));
	} else {
		parts->anon = mw_kib(less(m->arenas + m->anon, s->live_bytes + known));
	}
	parts->known = true;
}

/* Memory that is live now isn't free, though it may have been at the reading. */
static uint32_t free_now(const struct mw_parts *parts, const struct mw_stats *s)
{
	uint64_t used = less(s->live_bytes, parts->outside) + less(s->live, parts->outside_n) * OVERHEAD;

	return parts->known && parts->glibc ? mw_kib(less(parts->arenas, used)) : MW_KIB_UNKNOWN;
}

static bool changed(const struct mw_parts *parts, uint64_t rss)
{
	uint64_t by = rss > parts->rss ? rss - parts->rss : parts->rss - rss;

	return by > CHANGE_LEAST && by > parts->rss / 100;
}

static bool due(const struct mw_parts *parts, const struct mw_point *p)
{
	if (p->t < parts->next)
		return false;
	return !parts->known || p->t - parts->at >= MW_PARTS_SECONDS_MAX ||
	       (p->rss != MW_KIB_UNKNOWN && changed(parts, (uint64_t)p->rss << 10));
}

static void reading(struct mw_parts *parts, const struct mw_api *api, const struct mw_stats *stats,
		    int smaps)
{
	struct mw_places *places = api->places ? api->places(LARGE) : NULL;
	struct mw_smaps m;

	if (places && !places->arenas)
		places->n = places->windows_n = 0; /* another allocator's blocks may lie beside anything */
	if (places && mw_smaps_read_fd(&m, smaps, places))
		figure_out(parts, &m, places, stats);
	if (places)
		api->places_free(places);
}

void mw_parts_second(struct mw_parts *parts, const struct mw_api *api, const struct mw_stats *stats,
		     int smaps, struct mw_point *p)
{
	if (smaps >= 0 && due(parts, p)) {
		uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), seconds;

		reading(parts, api, stats, smaps);
		parts->cost = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		parts->at = p->t;
		parts->rss = p->rss != MW_KIB_UNKNOWN ? (uint64_t)p->rss << 10 : 0;
		seconds = parts->cost / (UINT64_C(1000000000) / MW_PARTS_SHARE);
		if (seconds < MW_PARTS_SECONDS)
			seconds = MW_PARTS_SECONDS;
		if (!parts->known) /* it can't be read, or there was no memory */
			seconds = MW_PARTS_SECONDS_MAX;
		parts->next = p->t + (seconds < 86400 ? (uint32_t)seconds : 86400);
	}
	p->free = free_now(parts, stats);
	p->anon = parts->known ? parts->anon : MW_KIB_UNKNOWN;
	p->stacks = parts->known ? parts->stacks : MW_KIB_UNKNOWN;
}
