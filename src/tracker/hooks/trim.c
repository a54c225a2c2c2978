/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trim.c - malloc_trim(3) of the app, as Process.warmup calls it: noted while calls are recorded. */
#include <malloc.h>

#include "tracker/real/real.h"
#include "tracker/track/events.h"
#include "tracker/track/track.h"

static void note_trim(struct mw_shard *t, size_t pad)
{
	MW_GUARD(t);
	mw_event(t, MW_OP_TRIM, 0, 0, 0, pad);
}

int malloc_trim(size_t); /* musl has none */
MW_EXPORT int malloc_trim(size_t pad)
{
	struct mw_shard *t = mw_get(&mw_events_on) ? mw_shard_now() : NULL;

	mw_real_init();
	if (t)
		note_trim(t, pad);
	return mw_next.malloc_trim ? mw_next.malloc_trim(pad) : 0;
}
