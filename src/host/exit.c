/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit.c - the end of the process: our threads end first, the dump is written last. */
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "caller/ruby/frame.h"
#include "process.h"
#include "report/report.h"
#include "track/track.h"

extern int __cxa_atexit(void (*)(void *), void *, void *);

static bool dumper_ended;

static void end_threads(void)
{
	static bool done;

	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_server_end();
	dumper_ended = mw_dumper_end();
}

static void end_threads_at_exit(void *unused)
{
	(void)unused;
	end_threads();
}

void mw_end_before_destructors(void)
{
	static bool done;

	if (!__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		(void)__cxa_atexit(end_threads_at_exit, NULL, NULL); /* if it can't be: in our destructor */
}

static void last_of_all(void *unused)
{
	static bool done;

	(void)unused;
	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_quiet_enter();
	if (mw_dump_at_exit(&mwrap_api) && dumper_ended)
		mw_periodic_remove(&mw_options);
	mw_quiet_leave();
}

/*
 * A Ruby that a signal ends (an uncaught SignalException: what SIGTERM does
 * to Puma and Sidekiq) takes its VM down in good order and then raises the
 * signal against itself, so that no handler of exit runs. Its socket is to
 * go, and its dump to be written, all the same.
 */
MW_EXPORT int raise(int sig)
{
	static int (*next)(int);

	if (mw_get(&mw_ruby.how) == MW_RUBY_ENDED) {
		end_threads();
		last_of_all(NULL);
	}
	if (!next)
		next = (int (*)(int))mw_real_next("raise");
	return next(sig);
}

/*
 * Destructors of libraries that were loaded after us have yet to run, and
 * free what is to be counted: a handler registered now is called after all
 * of them. Without a DSO handle, or it would be called in our own unloading.
 * By then others' destructors have run: it calls nothing of what they may interpose (sys.h).
 */
__attribute__((destructor)) static void unload(void)
{
	end_threads();
	if (mw_life == MW_ON && (mw_options.dump_path || mw_options.dump_fd >= 0)) {
		mw_quiet_enter();
		if (__cxa_atexit(last_of_all, NULL, NULL) != 0)
			mw_log("the exit dump: can't be registered: none is written");
		mw_quiet_leave();
	}
}
