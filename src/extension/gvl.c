/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gvl.c - calls the tracker, which may wait, without Ruby's lock. See ext.h. */
#include "ext.h"

#include <ruby/thread.h>

struct work {
	void *(*work)(void *);
	void *arg;
	bool ran;
};

static void *run_work(void *p)
{
	struct work *w = p;

	w->ran = true;
	return w->work(w->arg);
}

void mw_without_gvl(void *(*work)(void *), void *arg)
{
	struct work w = { .work = work, .arg = arg };

	for (;;) {
		/* unlike rb_thread_call_without_gvl, raises nothing once the work is done */
		rb_thread_call_without_gvl2(run_work, &w, NULL, NULL);
		if (w.ran)
			return;
		rb_thread_check_ints(); /* may raise; nothing is owned yet */
	}
}

static void *stats_work(void *p)
{
	mw_tracker->stats(p);
	return NULL;
}

void mw_stats_read(struct mw_stats *stats)
{
	mw_without_gvl(stats_work, stats);
}

static void *reset_work(void *unused)
{
	(void)unused;
	mw_tracker->reset();
	return NULL;
}

void mw_counters_reset(void)
{
	mw_without_gvl(reset_work, NULL);
}
