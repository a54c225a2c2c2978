/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit.c - the end of the process: first it ends our threads, last it writes the dump. */
#include <signal.h>

#include "shared/sys/libc.h"
#include "shared/sys/log.h"
#include "tracker/caller/ruby/frame.h"
#include "process.h"
#include "shared/report/report.h"
#include "tracker/real/real.h"
#include "tracker/table/ids.h"
#include "tracker/track/track.h"

static bool dumper_ended;

static void end_threads(void)
{
	static bool done;

	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_fork_repair();
	mw_server_end();
	dumper_ended = mw_dumper_end();
	mw_seconds_end();
	mw_recorder_end();
}

void mw_exit_init(void)
{
	mw_ends_by(end_threads);
}

static void last_of_all(void *unused)
{
	static bool done;

	(void)unused;
	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_quiet_enter();
	mw_ids_use_room();
	if (mw_dump_at_exit(mw_api_here, mw_server_said()) && dumper_ended)
		mw_periodic_remove(&mw_options);
	mw_quiet_leave();
}

/*
 * A signal may end Ruby by an uncaught SignalException, as SIGTERM ends Puma and
 * Sidekiq. Ruby then takes its VM down in good order and raises the signal again, so
 * no exit handler runs. Our socket must still be removed, and our dump written: both
 * happen here.
 */
MW_EXPORT int raise(int sig)
{
	if (mw_get(&mw_ruby.how) == MW_RUBY_ENDED) {
		end_threads();
		last_of_all(NULL);
	}
	mw_real_init();
	return mw_next.raise(sig);
}

/*
 * Destructors of libraries that were loaded after us have yet to run, and their frees
 * must be counted. A handler registered now is called after all of them. It has no DSO
 * handle, or it would be called in our own unloading. Since other libraries' destructors
 * have run, it calls no function that they may interpose (sys.h).
 */
__attribute__((destructor)) static void unload(void)
{
	end_threads();
	if (mw_life == MW_ON && (mw_options.dump_path || mw_options.dump_fd >= 0)) {
		mw_quiet_enter();
		if (!mw_libc_at_last(last_of_all))
			mw_log("the exit dump: can't be registered: none is written");
		mw_quiet_leave();
	}
}
