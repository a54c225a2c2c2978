/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.c MODE - code made at run time: 300,000 addresses that malloc returns to.
 *
 * There are more of them than the tracker has places for. Nothing may be lost:
 * the totals are exact, and a new place in the program itself, used after all
 * that, still gets a row.
 *
 * drop:  each block is freed at once, so that its place can be retired
 * keep:  blocks stay until the end: "(other)" takes what doesn't fit
 * again: as drop, then all once more: places come back after retirement
 */
#include "../lib/site.h"
#include "../lib/stubs.h"

#define STUBS 300000
#define SIZE 24

MALLOC_SITE(last_place);

static void *block[STUBS];

struct totals {
	uint64_t allocations, frees, total, live, live_bytes;
};

static struct totals now(const struct mw_api *a)
{
	struct mw_stats s = { 0 };

	if (a)
		a->stats(&s);
	return (struct totals){ s.allocations, s.frees, s.total, s.live, s.live_bytes };
}

/* Nothing but the stubs allocates between two calls of this. */
static void grew(const struct mw_api *a, struct totals *was, uint64_t allocations, uint64_t frees)
{
	struct totals is = now(a);

	if (a &&
	    (is.allocations - was->allocations != allocations || is.frees - was->frees != frees ||
	     is.total - was->total != allocations * SIZE || is.live - was->live != allocations - frees ||
	     is.live_bytes - was->live_bytes != (allocations - frees) * SIZE))
		say("NOT OK %lu allocations, %lu frees, %ld bytes, %ld live, %ld live bytes\n",
		    is.allocations - was->allocations, is.frees - was->frees,
		    (long)(is.total - was->total), (long)(is.live - was->live),
		    (long)(is.live_bytes - was->live_bytes));
	*was = is;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool stay = !strcmp(mode, "keep");
	size_t i, round, rounds = !strcmp(mode, "again") ? 2 : 1;
	const struct mw_api *a = tracker();
	struct mw_stats stats;
	struct totals was;

	if (!make_stubs(STUBS))
		return 1;
	was = now(a);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < STUBS; i++) {
			block[i] = call_stub(i, SIZE);
			if (!stay)
				free(block[i]);
		}
	grew(a, &was, rounds * STUBS, stay ? 0 : rounds * STUBS);
	if (stay) {
		for (i = 0; i < STUBS; i += 2)
			free(block[i]);
		grew(a, &was, 0, STUBS / 2);
	}
	for (i = 0; i < 10; i++)
		last_place(50);
	if (!stay) /* with everything living there may be no room */
		expect("last_place", 10, 0, 500, 500);
	if (a) {
		a->stats(&stats);
		if (stats.locations > stats.locations_max)
			say("NOT OK %lu locations\n", stats.locations);
		say("# api 1 locations %lu retired %lu\n", stats.locations, stats.retired);
	}
	return 0;
}
