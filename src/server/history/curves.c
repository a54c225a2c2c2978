/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curves.c - the steps: counts into the grids. See curves.h; curves_choice.c chooses. */
#include <string.h>

#include "shared/sys/clock.h"
#include "shared/sys/mw_assert.h"
#include "curves_choice.h"
#include "curves_grid.h"

_Static_assert(sizeof(struct mw_curves_piece) <= 65536, "16 pages");

/* --- the grids --------------------------------------------------------------------- */

/* Makes room for moment n, if there is memory. */
static void grow_grid(struct mw_curves_grid *g, const struct mw_api *api)
{
	uint32_t piece = g->room / MW_CURVES_PIECE;

	if (g->n < g->room || g->room == g->max || g->full)
		return;
	if (!g->pieces[piece])
		g->pieces[piece] = api->keep(sizeof(struct mw_curves_piece));
	if (g->pieces[piece])
		g->room = g->room + MW_CURVES_PIECE < g->max ? g->room + MW_CURVES_PIECE : g->max;
	else
		g->full = true;
}

static uint32_t last_t(const struct mw_curves_grid *g)
{
	return *mw_curves_moment(g, mw_curves_present(g) - 1).t;
}

/* Doubles the step of the long grid until there is room: the first moment of each step stays. */
static void thin(struct mw_curves_grid *g)
{
	while (g->n == g->room) {
		uint32_t n = 0;

		g->step *= 2;
		for (uint32_t i = 0; i < g->n; i++) {
			struct mw_curves_moment from = mw_curves_moment(g, i), to = mw_curves_moment(g, n);

			if (n && *from.t / g->step <= *mw_curves_moment(g, n - 1).t / g->step)
				continue;
			*to.t = *from.t;
			*to.total = *from.total;
			memmove(to.v, from.v, MW_CURVES_N * sizeof(*to.v));
			n++;
		}
		g->n = n;
	}
}

/* The place of a new moment; false: none is due, or there is no memory. */
static bool new_moment(struct mw_curves_grid *g, const struct mw_api *api, uint32_t t,
		       struct mw_curves_moment *m)
{
	if (g->n && t / g->step <= last_t(g) / g->step)
		return false;
	grow_grid(g, api);
	if (!g->room)
		return false;
	if (g->whole) {
		thin(g);
		if (g->n && t / g->step <= last_t(g) / g->step)
			return false;
	}
	mw_assert(!g->n || last_t(g) < t);
	g->n++;
	/* a ring, whose room has its last size; the long grid never comes round */
	mw_assert(g->room <= g->max && (g->n <= g->room || (!g->whole && (g->full || g->room == g->max))));
	*m = mw_curves_moment(g, mw_curves_present(g) - 1);
	*m->t = t;
	return true;
}

static void add_moment(struct mw_curves *c, const struct mw_api *api, struct mw_curves_grid *g,
		       uint32_t t, uint64_t total)
{
	struct mw_curves_moment m;

	if (!new_moment(g, api, t, &m))
		return;
	*m.total = total;
	for (uint32_t i = 0; i < MW_CURVES_N; i++)
		m.v[i] = c->slots[i].name ? c->slots[i].last : MW_CURVES_UNKNOWN;
}

static void start_grid(struct mw_curves_grid *g, uint32_t step, uint32_t max)
{
	g->step = step;
	g->max = max;
	g->n = 0;
	g->full = false;
}

/* --- a step ----------------------------------------------------------------------------- */

void mw_curves_start(struct mw_curves *c, const struct mw_api *api, bool on, bool lost)
{
	if (!lost)
		mw_curves_end(c);
	memset(c->slots, 0, sizeof(c->slots));
	c->on = on && api->live_sums && api->keep;
	c->begun = false;
	c->first = c->next = c->choice = c->chosen = c->minute = 0;
	c->names = c->cost = c->total = 0;
	start_grid(&c->fine, MW_CURVES_STEP, MW_CURVES_FINE_N);
	start_grid(&c->coarse, MW_CURVES_COARSE_STEP, MW_CURVES_COARSE_N);
	start_grid(&c->whole, MW_CURVES_LONG_STEP, MW_CURVES_LONG_N);
	c->whole.whole = true;
}

void mw_curves_end(struct mw_curves *c)
{
	for (uint32_t i = 0; i < MW_CURVES_N; i++)
		mw_curves_drop(c, i);
}

/* The slots' values; a slot whose name may be another tenant's is given up. */
static void take_values(struct mw_curves *c, const struct mw_live_sums *sums)
{
	for (uint32_t i = 0; i < MW_CURVES_N; i++) {
		struct mw_curves_slot *s = &c->slots[i];

		if (!s->name)
			continue;
		if (s->gone || s->id >= sums->end || sums->v[s->id].stamp != s->stamp) {
			if (s->fresh) {
				mw_curves_clear(c, i);
				continue;
			}
			s->gone = true;
			s->last = 0;
		} else {
			s->last = mw_curves_units(sums->v[s->id].bytes);
		}
		s->fresh = false;
	}
}

static uint32_t wait_for_cost(uint64_t cost, uint32_t least)
{
	uint64_t seconds = cost / (UINT64_C(1000000000) / MW_CURVES_SHARE);

	return seconds < least ? least : seconds < 3600 ? (uint32_t)seconds : 3600;
}

/*
 * A choice is due, or all live memory has jumped: what is new would be known some seconds late, and
 * nothing of the jump would be at its line. A choice that costs much isn't made for that.
 */
static bool choice_is_due(const struct mw_curves *c, uint32_t t, uint64_t total)
{
	uint64_t jump = total > c->total ? total - c->total : 0;

	return t >= c->choice || t - c->first < MW_CURVES_COARSE_STEP ||
	       (jump > c->total / MW_CURVES_JUMP && c->choice_wait <= MW_CURVES_STEP);
}

void mw_curves_second(struct mw_curves *c, const struct mw_api *api, double uptime)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), before, total = 0;
	uint32_t t = uptime > 0 && uptime < 4e9 ? (uint32_t)uptime : 0;
	struct mw_live_sums sums;

	if (!c->on || (c->begun && t < c->next))
		return;
	if (!api->live_sums(&sums)) {
		c->next = t + MW_CURVES_COARSE_STEP;
		return;
	}
	if (!c->begun) {
		c->first = c->minute = t;
		c->begun = true;
	}
	take_values(c, &sums);
	for (uint32_t id = 1; id < sums.end; id++)
		total += sums.v[id].bytes;
	before = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	c->cost = before - from;
	c->next = t + wait_for_cost(c->cost, MW_CURVES_STEP);
	if (choice_is_due(c, t, total)) {
		mw_curves_choose(c, api, &sums, t);
		c->choice_wait =
			wait_for_cost(mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before, MW_CURVES_STEP);
		c->choice =
			t +
			(c->choice_wait > MW_CURVES_CHOICE_STEP ? c->choice_wait : MW_CURVES_CHOICE_STEP);
	}
	c->total = total;
	add_moment(c, api, &c->fine, t, total);
	add_moment(c, api, &c->coarse, t, total);
	add_moment(c, api, &c->whole, t, total);
	api->live_sums_free(&sums);
}
