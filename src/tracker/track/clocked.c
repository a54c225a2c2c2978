/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clocked.h"

#include "shared/sys/ticks.h"
#include "tracker/base/quick.h"

enum {
	STEPS = 16,  /* from row to row: a MiB or less */
	RARE_STEPS = 256, /* the same once ENOUGH calls were noted; clocked_steps begins anew after so many */
	ENOUGH = 1024,
	CALLS = 24, /* in a row */
	SKIPPED = 8, /* of these */
	MOST = 1 << 12 /* ticks: a us or more */
};

struct sum {
	uint64_t n;
	int64_t ticks;
};
static struct sum of_allocs, of_frees; /* relaxed adds */
static bool on; /* before the first thread, as are these */
static uint64_t began_ns, began_ticks;

void mw_clocked_start(void)
{
	if (mw_quick_coarse())
		return;
	began_ns = mw_quick_ns();
	began_ticks = mw_ticks();
	on = true;
}

/* t goes on by MW_PERMIT_CLOCKED, unless it is quiet, or a new permit came. */
static void carry_on(struct mw_shard *t)
{
	if (mw_get(&t->permit) == t->known)
		mw_set(&t->permit, MW_PERMIT_CLOCKED);
	else
		t->clocked = 0;
}

static void begin_row(struct mw_shard *t)
{
	if (!on)
		return;
	t->clocked = CALLS;
	carry_on(t);
}

void mw_clocked_step(struct mw_shard *t)
{
	bool enough = mw_get(&of_allocs.n) + mw_get(&of_frees.n) >= ENOUGH;

	if (++t->clocked_steps % (enough ? RARE_STEPS : STEPS) == 0)
		begin_row(t);
}

void mw_clocked_cold_free(struct mw_shard *t)
{
	if (++t->clocked_frees == 0)
		begin_row(t);
}

void mw_clocked_begin(struct mw_clocked_call *c)
{
	uint64_t from = mw_ticks_between();

	c->nothing = mw_ticks_between() - from;
	c->from = mw_ticks_between();
}

void mw_clocked_end(struct mw_shard *t, const struct mw_clocked_call *c, bool is_free)
{
	uint64_t took = mw_ticks_between() - c->from;
	struct sum *to = is_free ? &of_frees : &of_allocs;

	if (!t->clocked)
		return;
	t->clocked--;
	if (t->clocked < CALLS - SKIPPED && took < MOST && c->nothing < MOST) {
		mw_add(&to->n, 1);
		mw_add(&to->ticks, (int64_t)(took - c->nothing));
	}
	if (t->clocked)
		carry_on(t);
}

void mw_clocked_read(struct mw_clocked *out)
{
	uint64_t ticks = mw_ticks() - began_ticks, ns = mw_quick_ns() - began_ns;
	double each = on && ticks ? (double)ns / (double)ticks : 0;

	*out = (struct mw_clocked){ .allocs = mw_get(&of_allocs.n), .frees = mw_get(&of_frees.n) };
	out->alloc_ns = mw_get(&of_allocs.ticks) > 0 ? (double)mw_get(&of_allocs.ticks) * each : 0;
	out->free_ns = mw_get(&of_frees.ticks) > 0 ? (double)mw_get(&of_frees.ticks) * each : 0;
}
