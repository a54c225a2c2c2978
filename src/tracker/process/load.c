/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - starts the tracker when it is loaded, and its threads when Ruby is up. */
#include <stdio.h>
#include <stdlib.h>

#include "shared/sys/clock.h"
#include "tracker/base/noticed.h"
#include "tracker/base/quick.h"
#include "shared/sys/log.h"
#include "tracker/caller/ruby/chain.h"
#include "tracker/caller/ruby/state.h"
#include "named.h"
#include "process.h"
#include "tracker/real/bind.h"
#include "tracker/real/real.h"
#include "tracker/table/ids.h"
#include "tracker/track/clocked.h"
#include "tracker/track/sample.h"
#include "tracker/track/sampled.h"
#include "tracker/track/track.h"

_Static_assert(MW_CALLERS_MOST == MW_BT_MOST, "the option and the walk have one limit");

/* In a Ruby thread, at a safe point of Ruby's, where Ruby may allocate. */
static void ruby_is_up(void)
{
	mw_quiet_enter();
	mw_ruby_await_end();
	mw_quiet_leave();
	mw_server_go();
	mw_recorder_go();
	mw_dumper_start();
}

static const struct mw_ruby_above above_ruby = {
	.thread = mw_shard_now,
	.changed = mw_mode_choose,
	.up = ruby_is_up,
};

static void set_up(void)
{
	mw_loaded_at = mw_now_ns();
	mw_log_init();
	if (mw_sys(SYS_gettid, 0, 0, 0, 0, 0) == mw_sys_getpid())
		mw_main_thread = (uintptr_t)pthread_self();
	mw_start();
	mw_quiet_enter();
	mw_mode_retry();
	mw_options_bases(&mw_options, getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"));
	if (mw_life == MW_ON) {
		mw_arena_limit(mw_options.memory_max);
		mw_quick_start();
		mw_clocked_start();
		mw_sampling_start(mw_options.stacks_rate, mw_options.stacks_auto, mw_loaded_at);
		if (mw_options.sampled)
			(void)mw_counts_sample(mw_options.sample);
		mw_bt_set(mw_options.bt);
		mw_ruby_init(&above_ruby);
		if (mw_options.dump_path || mw_options.dump_fd >= 0)
			mw_ids_keep_room();
		if (!mw_fork_init())
			mw_log("pthread_atfork: failed: forked children may count wrongly");
	}
	mw_quiet_leave();
}

/* mw_life isn't MW_ON: writes the reason into err. */
static void why_not(char *err)
{
	snprintf(err, MW_ERROR_MAX, "the tables: out of memory: nothing is counted");
	if (mw_real_aside)
		snprintf(err, MW_ERROR_MAX, "%s", mw_real_aside);
}

void mw_load_threads(void)
{
	mw_threads_decide();
	mw_recorder_start();
	mw_server_start();
	mw_dumper_start();
}

bool mw_load_joined(const char *options, char *err)
{
	if (!mw_options_parse(&mw_options, options, err))
		return false;
	if (mw_options.malloc) {
		snprintf(err, MW_ERROR_MAX, "malloc: not for a running process: start it with mwrap");
		return false;
	}
	set_up();
	if (mw_life != MW_ON)
		why_not(err);
	return mw_life == MW_ON;
}

__attribute__((constructor)) static void load(void)
{
	char err[MW_ERROR_MAX];
	bool right;

	mw_bind_self();
	mw_api_here = &mwrap_api;
	mw_exit_init();
	mw_real_joined = mw_real_joins();
	mw_unseen = mw_real_joined;
	if (mw_real_joined)
		return;
	right = mw_options_parse(&mw_options, getenv("MWRAP"), err);
	set_up();
	mw_quiet_enter();
	if (!right)
		mw_log("%s", err);
	if (mw_life == MW_ON) {
		mw_load_threads();
	} else if (!mw_real_aside || mw_named()) { /* else somebody may read what its child says */
		why_not(err);
		mw_log("%s", err);
	}
	mw_quiet_leave();
}
