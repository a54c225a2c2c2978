/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quiet.c - a thread's allocations in quiet mode aren't counted. */
#include "tracker/table/shard.h"
#include "track.h"

/* The depth of a thread without a state: after its end, or for want of memory. */
static __thread unsigned stateless __attribute__((tls_model("initial-exec")));

unsigned mw_quiet_enter(void)
{
	struct mw_shard *t = mw_state();

	if (!t)
		t = mw_shard_now();
	if (!t)
		return mw_life == MW_ON ? ++stateless : 0;
	mw_shard_quiet_enter(t);
	return t->quiet;
}

unsigned mw_quiet_leave(void)
{
	struct mw_shard *t = mw_state();

	if (!t)
		return stateless ? --stateless : 0;
	if (!t->quiet)
		return 0;
	mw_shard_quiet_leave(t);
	return t->quiet;
}

void mw_hush(bool on)
{
	struct mw_shard *t = mw_state();

	if (!t && on)
		t = mw_shard_now();
	if (t)
		mw_shard_switch(t, on);
}

bool mw_is_quiet(void)
{
	const struct mw_shard *t = mw_state();

	return t ? mw_shard_is_quiet(t) : stateless > 0;
}
