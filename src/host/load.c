/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - starts the tracker when it is loaded, and its threads when Ruby is up. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "caller/ruby/chain.h"
#include "caller/ruby/frame.h"
#include "caller/ruby/state.h"
#include "named.h"
#include "process.h"
#include "real/aside.h"
#include "real/real.h"
#include "track/sample.h"
#include "track/track.h"

_Static_assert(MW_CALLERS_MOST == MW_BT_MOST, "the option and the walk have one limit");

struct mw_options mw_options = { .dump_fd = -1 };
uint64_t mw_loaded_at;
uint64_t mw_resets;

/* In a Ruby thread, at a safe point of Ruby's, where Ruby may allocate. */
static void ruby_is_up(void)
{
	mw_quiet_enter();
	mw_ruby_await_end();
	mw_quiet_leave();
	mw_server_go();
	mw_dumper_start();
}

static const struct mw_ruby_above above_ruby = {
	.thread = mw_permitted_cold,
	.changed = mw_mode_choose,
	.up = ruby_is_up,
};

__attribute__((constructor)) static void load(void)
{
	char err[MW_ERROR_MAX];

	mw_loaded_at = mw_now_ns();
	mw_log_init();
	mw_start();
	mw_quiet_enter();
	mw_mode_retry();
	if (!mw_options_parse(&mw_options, getenv("MWRAP"), err))
		mw_log("%s", err);
	mw_options_bases(&mw_options, getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"));
	if (mw_life != MW_ON) {
		if (!mw_real_aside)
			mw_log("the tables: out of memory: nothing is counted");
		else if (mw_named()) /* else somebody may read what its child says */
			mw_log("%s", mw_real_aside);
		mw_quiet_leave();
		return;
	}
	mw_arena_limit(mw_options.memory_max);
	mw_sampling_start(mw_options.stacks_rate, mw_options.stacks_auto, mw_loaded_at);
	mw_bt_set(mw_options.bt);
	mw_ruby_init(&above_ruby);
	if (!mw_fork_init())
		mw_log("pthread_atfork: failed: forked children may count wrongly");
	mw_threads_decide();
	mw_server_start();
	mw_dumper_start();
	mw_quiet_leave();
}
