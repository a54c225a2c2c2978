/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dumper.c - the thread that writes the periodic dumps (option dump_every).
 *
 * The thread begins when Ruby's VM is up, at load in a process without Ruby, and
 * anew in a forked child. It sleeps until its first dump is due, but for looks at the peak of live memory: in a short
 * process it never runs.
 *
 * Reading the table is one step, since a child must not find the dynamic linker's lock
 * held (names of native locations). Fork waits for that step, for a limited time.
 * Writing is another. Fork doesn't wait for it, since a disk may hang for hours.
 * A second thread writes, with a table of descriptors of its own (close_range(2)). So
 * no forked child inherits the file, the app can't close it and reuse its number, and
 * the file takes no number of the app's. The first thread logs errors, since its
 * stderr is the app's. periodic.c handles kernels without a table per thread.
 *
 * At exit no dump begins. Exit waits 200 ms for one that is being written.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <semaphore.h>

#include "shared/report/report.h"
#include "shared/sys/clock.h"
#include "shared/sys/libc.h"
#include "named.h"
#include "tracker/base/own_thread.h"
#include "process.h"
#include "threads.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/table/peak.h"
#include "tracker/track/track.h"

enum { STACK = 256 * 1024, END_MS = 200 };

static sem_t done;
static struct mw_buf text;  /* the dump to write */
static int outcome;         /* of the write: 0 or an errno */
static uint64_t next;       /* moment of the next dump; 0: not known yet. The thread's */
static uint32_t busy;       /* between two sleeps */
static uint32_t writing;    /* `text` is whole */
static uint32_t ending;     /* the process exits: begin no dump */
static struct mw_step reading; /* of the table */

/* --- one dump ----------------------------------------------------------------- */

static void *write_text(void *unused)
{
	bool shared = mw_libc_close_range(0, ~0U, CLOSE_RANGE_UNSHARE) != 0;

	(void)unused;
	outcome = mw_periodic_write(&text, &mw_options, shared);
	sem_post(&done);
	return NULL;
}

static void dump(void)
{
	bool had;
	int err;

	mw_step_begin(&reading, MW_RANK_DUMPER_STEP);
	mw_end_before_destructors();
	had = mw_periodic_render(&text, mw_api_here);
	__atomic_store_n(&writing, had, __ATOMIC_SEQ_CST);
	mw_step_end(&reading, MW_RANK_DUMPER_STEP);
	err = had ? mw_own_thread_start(write_text, NULL, STACK) : ENOMEM;
	if (had && !err) {
		while (sem_wait(&done) != 0)
			;
		err = outcome;
	}
	__atomic_store_n(&writing, 0, __ATOMIC_SEQ_CST);
	mw_buf_free(&text);
	if (err)
		mw_periodic_complain(err, &mw_options);
}

static void look_for_peak(void)
{
	if (mw_life != MW_ON)
		return;
	mw_quiet_enter();
	mw_peak_look(UINT64_MAX, mw_uptime());
	mw_quiet_leave();
}

/*
 * Looks for the peak of live memory (tracker/table/peak.h) once a second, and less often if a look costs more than a
 * thousandth of that. Returns the moment of the next look.
 */
static uint64_t look_and_schedule(void)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), cost;

	mw_step_begin(&reading, MW_RANK_DUMPER_STEP);
	if (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST))
		look_for_peak();
	mw_step_end(&reading, MW_RANK_DUMPER_STEP);
	cost = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	return mw_now_ns() + (cost > 1000000 ? 1000 * cost : 1000000000);
}

/* Sleeps until `until`, and looks meanwhile. False: see mw_own_sleep_until. */
static bool look_until(uint64_t until)
{
	for (uint64_t at = mw_now_ns() + 1000000000; at < until; at = look_and_schedule())
		if (!mw_own_sleep_until(at))
			return false;
	return mw_own_sleep_until(until);
}

static bool dump_for_ever(void)
{
	uint64_t every = mw_options.dump_every * 1000000000;

	if (!next) {
		sem_init(&done, 0, 0);
		next = mw_now_ns() + every;
	}
	while (look_until(next)) {
		__atomic_store_n(&busy, 1, __ATOMIC_SEQ_CST);
		/* either we see `ending`, or mw_dumper_end sees `busy` */
		if (__atomic_load_n(&ending, __ATOMIC_SEQ_CST)) {
			__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
			return false;
		}
		dump();
		__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
		for (next += every; next <= mw_now_ns(); next += every)
			; /* skips the dumps that are overdue */
	}
	return true;
}

struct mw_host_thread mw_dumper_thread = {
	.run = dump_for_ever, .stack = STACK, .failed = "dump_every: can't create its thread"
};

/* --- the process ---------------------------------------------------------------- */

void mw_dumper_start(void)
{
	if (mw_options.dump_every && mw_get(&mw_ruby.how) != MW_RUBY_STARTING && mw_may_have_threads())
		(void)mw_host_thread_start(&mw_dumper_thread);
}

void mw_dumper_before_fork(uint64_t until)
{
	mw_step_before_fork(&reading, MW_RANK_DUMPER_STEP, until);
}

void mw_dumper_after_fork(int child)
{
	mw_step_after_fork(&reading, MW_RANK_DUMPER_STEP, child);
	if (!child)
		return;
	/* the parent's thread is gone: its text is freed if whole (start_child), else lost */
	busy = 0;
	next = 0;
	mw_periodic_child();
}

void mw_dumper_start_child(void)
{
	if (!mw_options.dump_every)
		return;
	mw_quiet_enter();
	if (writing)
		mw_buf_free(&text);
	text = (struct mw_buf){ 0 };
	writing = 0;
	mw_quiet_leave();
	mw_dumper_start();
}

bool mw_dumper_end(void)
{
	__atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
	if (!mw_host_thread_exists(&mw_dumper_thread))
		return true;
	for (int i = 0; i < END_MS && __atomic_load_n(&busy, __ATOMIC_SEQ_CST); i++)
		mw_nap();
	return !__atomic_load_n(&busy, __ATOMIC_SEQ_CST);
}
