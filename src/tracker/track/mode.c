/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mode.c - chooses the mode of this process, and changes what it depends on: a pause, a recording. */
#include "admit.h"
#include "dismiss.h"
#include "events.h"
#include "tracker/caller/ruby/chain.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/caller/ruby/jit_code.h"
#include "tracker/real/musl.h"
#include "tracker/real/real.h"
#include "tracker/table/generation.h"
#include "track.h"

enum { END_MS = 1000 }; /* for calls under way */

/* The reason for MW_MODE_NONE, in words; NULL for the other modes. */
static const char *misfit(void)
{
	if (!mw_real_glibc && !mw_real_musl_plain && !mw_classes_known())
		return "the tracker doesn't know this allocator";
	if (__atomic_load_n(&mw_paused, __ATOMIC_SEQ_CST))
		return "tracking is off";
	if (mw_get(&mw_clock.asked))
		return "GC.count can't be read where it is";
	if (mw_clock.in_bytes)
		return NULL;
	switch (__atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE)) {
	case MW_RUBY_FAST:
	case MW_RUBY_JIT:
		return NULL;
	case MW_RUBY_STARTING:
		return "Ruby is still starting";
	case MW_RUBY_ENDED:
		return "Ruby has ended";
	default:
		return "Ruby's lines are asked for by its public calls";
	}
}

static enum mw_mode mode_now(void)
{
	if (misfit())
		return MW_MODE_NONE;
	if (mw_real_glibc)
		return mw_clock.in_bytes ? MW_MODE_BYTES : MW_MODE_RUBY;
	return mw_clock.in_bytes ? MW_MODE_CLASS_BYTES : MW_MODE_CLASS_RUBY;
}

const char *mw_mode_name(const char **why)
{
	static const char *const names[] = { "none", "bytes", "ruby", "bytes", "ruby" };
	const char *reason = misfit();
	uint32_t mode = mw_mode();

	/* if the mode has changed in between, no reason is certain */
	*why = mode == MW_MODE_NONE && reason ? reason : "";
	return names[mode];
}

/* Two threads may choose at once: the last one to store has seen the changes of both. */
void mw_mode_choose(void)
{
	enum mw_mode mode;
	bool with, apart, recorded;

	do {
		mode = mode_now();
		with = mw_chain_wanted();
		apart = mw_jit_is_apart();
		recorded = mw_get(&mw_events_on);
		mw_mode_set(mode);
		mw_admit_other_choose(mode, with, apart);
		mw_free_other_choose(mode);
		mw_permit_callers(with || apart);
	} while (mode != mode_now() || with != mw_chain_wanted() || apart != mw_jit_is_apart() ||
		 recorded != mw_get(&mw_events_on));
}

void mw_mode_retry(void)
{
	mw_classes_fill();
	if (mw_life == MW_ON)
		mw_mode_choose();
}

void mw_pause(bool on)
{
	if (on)
		mw_set(&mw_was_paused, true);
	__atomic_store_n(&mw_paused, on, __ATOMIC_SEQ_CST);
	mw_mode_choose();
}

bool mw_events_begin(bool fine, bool wait)
{
	if (!mw_events_ready(fine, wait))
		return false;
	mw_set(&mw_events_on, true);
	mw_mode_choose();
	mw_permit_record(true);
	return true;
}

bool mw_events_end(void)
{
	mw_set(&mw_events_on, false);
	mw_permit_record(false);
	mw_mode_choose();
	if (mw_calls_left(END_MS))
		return true;
	mw_events_stuck();
	return false;
}
