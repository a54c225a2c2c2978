/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write_blocks.c - live blocks in a recording, and samples of the process's memory. See writer.h. */
#include "memory/map.h"
#include "shared/report/report.h"
#include "writer.h"

struct walk {
	struct mw_writer *w;
	bool ok;
};

static void live(const struct mw_live *l, void *ctx)
{
	struct walk *k = ctx;
	struct mw_trace_event e = { .ticks = k->w->begin_ticks,
				    .ref = l->ref,
				    .size = l->size,
				    .extra = l->addr,
				    .location = l->id,
				    .op = MW_OP_LIVE };

	if (k->ok && l->ref)
		k->ok = mw_writer_own(k->w, &e);
}

bool mw_writer_live(struct mw_writer *w)
{
	struct walk k = { w, mw_writer_own_flush(w) };

	w->job->api->each_live(live, &k);
	return k.ok && mw_writer_own_flush(w);
}

static void resident(const struct mw_live *l, void *ctx)
{
	struct walk *k = ctx;
	struct mw_trace_event e = { .ticks = k->w->ticks, .ref = l->ref, .op = MW_OP_RESIDENT };

	if (!k->ok || !l->ref || l->size < MW_TRACE_LARGE)
		return;
	e.extra = k->w->job->source->pages((const void *)l->addr, l->size);
	k->ok = mw_writer_own(k->w, &e);
}

bool mw_writer_resident(struct mw_writer *w)
{
	struct walk k = { w, mw_writer_own_flush(w) };

	w->job->api->each_live(resident, &k);
	return k.ok && mw_writer_own_flush(w);
}

bool mw_writer_sample(struct mw_writer *w)
{
	struct mw_trace_sample s = { .ticks = mw_writer_tick(w) };
	struct mw_trace_frame f = { .type = MW_FRAME_SAMPLES, .ticks = s.ticks };

	if (!mw_map_heap(w->job->api, &s.heap, &s.live))
		return true; /* no memory now: perhaps next time */
	(void)mw_rss_bytes(-1, &s.rss);
	return mw_writer_frame(w, &f, &s, sizeof(s));
}
