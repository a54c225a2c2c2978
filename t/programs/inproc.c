/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inproc.c - a process's view through struct mw_api. Natively it prints
 * nothing; the test wants the lines of the run under the tracker.
 */
#include "../lib/site.h"

static const struct mw_api *a;
static void *block[100];

MALLOC_SITE(site_a);
MALLOC_SITE(site_b);
MALLOC_SITE(hushed);
REALLOC_SITE(unhushed);

static struct mw_row row(const char *function)
{
	struct mw_snapshot *s = a->snapshot();
	struct mw_row r = { 0 };

	if (!check(s != NULL, "a snapshot for %s", function))
		return r;
	r = sum_at(s, function, NULL);
	a->snapshot_free(s);
	return r;
}

static void is_row(const char *function, struct expected e, const char *when)
{
	struct mw_row r = row(function);

	check(r.allocations == e.allocations && r.frees == e.frees && r.total == e.total &&
		      r.live == e.live && r.live_bytes == e.live_bytes && r.growth == e.growth &&
		      r.freed == r.total - (uint64_t)r.growth,
	      "%s %s: %lu %lu %lu %lu %lu %ld", function, when, r.allocations, r.frees, r.total, r.live,
	      r.live_bytes, r.growth);
}

/* Every live block of a location, with its address and size; no other's. */
static void lives(void)
{
	uint32_t ids[2];
	struct mw_lives *l;
	size_t i, k, found = 0;

	for (i = 0; i < 50; i++)
		block[i] = i % 2 ? site_b(1000 + i) : site_a(1000 + i);
	ids[0] = row("site_a").id;
	ids[1] = row("site_b").id;
	check(ids[0] != ids[1], "two ids");
	l = a->lives(ids, 1);
	for (i = 0; l && i < l->n; i++)
		for (k = 0; k < 50; k += 2)
			found += (void *)l->v[i].addr == block[k] && l->v[i].size == 1000 + k &&
				 l->v[i].id == ids[0];
	check(l && l->n == 25 && found == 25, "lives of one location: %zu", found);
	a->lives_free(l);
	l = a->lives(ids, 2);
	check(l && l->n == 50, "lives of two locations");
	a->lives_free(l);
	l = a->lives(NULL, 0);
	for (found = i = 0; l && i < l->n; i++)
		for (k = 0; k < 50; k++)
			found += (void *)l->v[i].addr == block[k];
	check(l && found == 50, "lives of all: %zu", found);
	a->lives_free(l);
}

static void resets(void)
{
	struct mw_stats before, after;
	size_t i;

	is_row("site_a", (struct expected){ 25, 0, 25600, 25, 25600, 25600 }, "at first");
	a->stats(&before);
	a->reset();
	is_row("site_a", (struct expected){ 0, 0, 0, 25, 25600, 0 }, "after a reset");
	for (i = 0; i < 10; i += 2)
		free(block[i]);
	is_row("site_a", (struct expected){ 0, 5, 0, 20, 25600 - 5020, -5020 }, "frees after a reset");
	block[0] = site_a(7);
	is_row("site_a", (struct expected){ 1, 5, 7, 21, 25600 - 5020 + 7, -5013 }, "and an allocation");
	a->stats(&after);
	check(after.resets == before.resets + 1, "resets are counted");
	check(after.allocations == 1 && after.total == 7 && after.frees == 5 && after.freed == 5020,
	      "totals start again: %lu %lu %lu %lu", after.allocations, after.total, after.frees,
	      after.freed);
	check(after.live == before.live - 4, "live blocks stay known");
	a->reset();
	is_row("site_a", (struct expected){ 0, 0, 0, 21, 25600 - 5020 + 7, 0 }, "after another reset");
}

static void quiet(void)
{
	void *p, *q;

	p = hushed(100);
	q = hushed(200);
	check(a->quiet_enter() == 1 && a->quiet_enter() == 2 && a->quiet_leave() == 1, "depths");
	block[90] = hushed(1);
	is_row("hushed", (struct expected){ 2, 0, 300, 2, 300, 300 }, "what is quiet isn't counted");
	free(p);
	is_row("hushed", (struct expected){ 2, 1, 300, 1, 200, 200 }, "but its frees are, of known blocks");
	q = unhushed(q, 5000);
	is_row("hushed", (struct expected){ 2, 2, 300, 0, 0, 0 }, "as is a realloc's free");
	is_row("unhushed", (struct expected){ 0 }, "of which the rest isn't counted");
	check(a->quiet_leave() == 0, "no longer quiet");
	q = unhushed(q, 6000);
	is_row("unhushed", (struct expected){ 1, 0, 6000, 1, 6000, 6000 },
	       "an unknown block becomes known");
	free(q);
	free(block[90]);
	is_row("hushed", (struct expected){ 2, 2, 300, 0, 0, 0 },
	       "freeing an unknown block counts nothing");
	is_row("unhushed", (struct expected){ 1, 1, 6000, 0, 0, 0 }, "freed");
}

/* In a process without Ruby a lifespan is what was allocated meanwhile. */
static void lifespans(void)
{
	struct mw_stats s;
	struct mw_row r;
	void *p;

	a->stats(&s);
	check(!strcmp(s.life_unit, "bytes"), "life_unit: %s", s.life_unit);
	check(!strcmp(s.ruby_lookup, "none"), "ruby_lookup: %s", s.ruby_lookup);
	check(!strcmp(s.mode, "bytes") && !*s.mode_why, "mode: %s %s", s.mode, s.mode_why);
	check(!strcmp(s.gc_count, "none"), "gc_count: %s", s.gc_count);
	a->pause(true);
	a->stats(&s);
	check(!strcmp(s.mode, "none") && !strcmp(s.mode_why, "tracking is off"), "paused: %s %s", s.mode,
	      s.mode_why);
	a->pause(false);
	a->reset();
	p = site_b(1);
	free(hushed(1 << 20));
	free(p);
	r = row("site_b");
	/* counted in units of 256 */
	check(r.life_max >= (1 << 20) - 256 && r.life_max <= (1 << 20) + 256 &&
		      r.life_sum == r.life_max && r.frees == 1,
	      "life_max: %lu", r.life_max);
	a->reset();
	r = row("site_b");
	check(!r.life_max && !r.life_sum, "a reset forgets lifespans: %lu", r.life_max);
	p = site_b(1);
	free(p);
	r = row("site_b");
	check(r.frees == 1 && r.life_max <= 256, "a short life: %lu", r.life_max);
}

/* The caller's allocations are counted, those of the tracker for it aren't. */
static void unseen(void)
{
	struct mw_stats before, after;
	struct mw_snapshot *s;
	struct mw_lives *l;

	a->stats(&before);
	s = a->snapshot();
	l = a->lives(NULL, 0);
	a->stats(&after);
	check(before.allocations == after.allocations && before.live == after.live &&
		      before.total == after.total,
	      "a snapshot isn't in a snapshot");
	a->snapshot_free(s);
	a->lives_free(l);
	a->stats(&after);
	check(before.frees == after.frees, "nor its end");
	a->trim();
	a->stats(&after);
	check(before.frees == after.frees && before.allocations == after.allocations, "nor is trim");
	check(after.uptime > 0 && after.tracker_bytes > 0 && after.locations > 0 &&
		      after.locations <= after.locations_max,
	      "figures");
}

int main(void)
{
	a = tracker();
	if (!a)
		return 0;
	lives();
	resets();
	quiet();
	lifespans();
	unseen();
	return 0;
}
