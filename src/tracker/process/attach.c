/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/libc.h"
#include "shared/sys/clock.h"
#include "shared/sys/request.h"
#include "shared/sys/sys.h"
#include "tracker/caller/ruby/api.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/caller/ruby/state.h"
#include "tracker/hooks/got.h"
#include "late.h"
#include "learn.h"
#include "process.h"
#include "tracker/real/untracked.h"
#include "tracker/real/real.h"
#include "shared/report/report.h"
#include "tracker/track/forget.h"
#include "tracker/track/track.h"

/* With the GVL. */
static enum { SLEEPS, READY, ON, STOPPED } is; /* READY: set up, but no call leads to a hook */
static double began;
static bool from_outside; /* it began by a request */

/* relaxed; 0 in a process that began with it */
static uint64_t before;
static bool before_unknown;
#define MEASURED_MOST ((uint64_t)1 << 30)

/* malloc looks at each free block for it, with its lock: 0.2 us for each. So a large process isn't asked. */
static bool may_ask(void)
{
	uint64_t rss;
	int statm = mw_real_glibc ? mw_sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0) : -1;
	bool small = statm >= 0 && mw_rss_bytes(statm, &rss) && rss < MEASURED_MOST;

	if (statm >= 0)
		mw_sys_close(statm);
	return small;
}

/* Blocks that malloc keeps for a thread's next call count, too. */
static void measure_before(void)
{
	bool may = may_ask();

	mw_set(&before_unknown, !may);
	if (!may)
		return;
	mw_set(&before, mw_libc_malloc_in_use());
}

bool mw_attached_before(uint64_t *bytes)
{
	*bytes = mw_get(&before);
	return !mw_get(&before_unknown);
}

double mw_attached_at(void)
{
	return began;
}

const char *mw_attached_how(void)
{
	if (!mw_real_joined)
		return "preload";
	return from_outside ? "attached" : "started";
}

static bool refuse_call(char *err, const char *line)
{
	snprintf(err, MW_ERROR_MAX, "%s", line);
	return false;
}

static double age(void)
{
	uint64_t ticks = mw_start_ticks();
	double now = (double)mw_clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)mw_boot_offset_s();

	return ticks ? now - (double)ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* Checks what is known before anything is set up. */
static bool suits(char *err)
{
	const char *aside = mw_untracked_reason();
	const void *real = mw_real_next("malloc");

	if (aside)
		return refuse_call(err, aside);
	if (!real || mw_real_of_program(real))
		return refuse_call(err, "malloc: linked into the program: its calls can't be tracked");
	return true;
}

static bool set_up(const char *options, char *err)
{
	if (!suits(err) || !mw_load_joined(options, err))
		return false;
	is = READY;
	return true;
}

/* Options that took effect when tracking began stay. */
static bool go_on_tracking(const char *options, char *err)
{
	if (options && *options)
		return refuse_call(err, "options: given after the first start: leave them out");
	if (!mw_forget_live())
		return refuse_call(err, "a thread is still inside the tracker: try again");
	return true;
}

/* A thread is quiet in it: what the tracker allocates for itself isn't counted. */
static bool lead_to_hooks(char *err)
{
	bool led;

	if (mw_get(&mw_ruby.how) == MW_RUBY_NONE)
		return refuse_call(err, "Ruby's functions: not found: start the program with mwrap");
	mw_quiet_enter();
	led = mw_got_to_hooks((const void *)(uintptr_t)mw_rb.rb_gc_count);
	if (led) {
		(void)mw_ruby_look_for_vm(); /* lines are known at once, if this stack verifies */
		mw_load_threads();
	}
	mw_quiet_leave();
	return led ||
	       refuse_call(err,
			   "Ruby's malloc: linked into Ruby, or sealed by the kernel: start the program with mwrap");
}

bool mw_attach(const char *options, char *err)
{
	double at = age();

	if (!mw_real_joined)
		return mw_serve_late(options, err);
	if (is == ON)
		return refuse_call(err, "the tracker is running already");
	if (is == SLEEPS ? !set_up(options, err) : is == STOPPED && !go_on_tracking(options, err))
		return false;
	measure_before();
	mw_pause(true); /* no block gets a record before all calls lead here: its free could go past the tracker */
	if (!lead_to_hooks(err))
		return false;
	mw_pause(false);
	if (is != STOPPED)
		began = at;
	is = ON;
	return true;
}

bool mw_detach(char *err)
{
	if (!mw_real_joined)
		return refuse_call(err,
				   "the tracker is preloaded, so it can't be stopped: use Mwrap.pause");
	if (is != ON)
		return refuse_call(err, "the tracker isn't running: call Mwrap.start first");
	mw_pause(true); /* first, for the same reason */
	mw_quiet_enter();
	mw_got_to_real();
	mw_quiet_leave();
	is = STOPPED;
	return true;
}

bool mw_asked(void)
{
	struct mw_request r;
	char err[MW_ERROR_MAX];
	bool first = is == SLEEPS || is == READY, done;

	if (!mw_request_take(&r))
		return !first;
	done = r.stop ? mw_detach(err) : mw_attach(r.options, err);
	if (done && first)
		from_outside = true;
	if (done && !r.stop && mw_real_joined)
		mw_learn();
	mw_request_answer(&r, done ? "ok" : err);
	return done || !first;
}
