/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_curves.h - the curves of made-up locations: of sums[id] and names[id] for each id from 1 to
 * end - 1. IDS is the most that there are; the test defines it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/server/history/curves.h"

static struct mw_curves c;
static struct mw_live_sum sums[IDS];
static char names[IDS][32];
static uint32_t end, now; /* the second that comes next */
static unsigned snapshots;
static size_t kept_bytes, keep_max;
static void *kept[64];
static size_t kept_n;

static bool live_sums(struct mw_live_sums *s)
{
	*s = (struct mw_live_sums){ .end = end, .v = malloc(end * sizeof(*sums)) };
	memcpy(s->v, sums, end * sizeof(*sums));
	return true;
}

static void live_sums_free(struct mw_live_sums *s)
{
	free(s->v);
}

static struct mw_snapshot *snapshot(void)
{
	struct mw_snapshot *s = calloc(1, sizeof(*s));

	snapshots++;
	s->rows = calloc(end, sizeof(*s->rows));
	for (uint32_t id = 1; id < end; id++)
		s->rows[s->n++] = (struct mw_row){
			.id = id,
			.location = names[id],
			.location_len = (uint32_t)strlen(names[id]),
			.file_len = 3,
			.live_bytes = sums[id].bytes,
			.growth = 12345
		};
	return s;
}

static void snapshot_free(struct mw_snapshot *s)
{
	free(s->rows);
	free(s);
}

static void *keep(size_t bytes)
{
	if (kept_bytes + bytes > keep_max)
		return NULL;
	kept_bytes += bytes;
	return kept[kept_n++] = calloc(1, bytes);
}

static const struct mw_api api = {
	.live_sums = live_sums,
	.live_sums_free = live_sums_free,
	.snapshot = snapshot,
	.snapshot_free = snapshot_free,
	.keep = keep,
};

static void setup(void)
{
	memset(&c, 0, sizeof(c));
	memset(sums, 0, sizeof(sums));
	for (uint32_t id = 1; id < IDS; id++)
		snprintf(names[id], sizeof(names[id]), "f%u:1", id);
	end = 1;
	now = snapshots = 0;
	kept_bytes = kept_n = 0;
	keep_max = 4 << 20;
	mw_curves_start(&c, &api, true, false);
}

static void teardown(void)
{
	mw_curves_end(&c);
	while (kept_n)
		free(kept[--kept_n]);
}

/* A second. One that took long puts off the next ones: here all come when they should, also on a busy machine. */
static void step(void)
{
	mw_curves_second(&c, &api, now);
	if (c.next > now + MW_CURVES_STEP)
		c.next = now + MW_CURVES_STEP;
	if (c.choice > now + MW_CURVES_CHOICE_STEP)
		c.choice = now + MW_CURVES_CHOICE_STEP;
}
