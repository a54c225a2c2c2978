/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pthread.c - a native thread that Ruby uses again for another Ruby thread.
 *
 * Up to 3.2 Ruby keeps a native thread for some seconds after its Ruby thread has
 * ended, and gives it the next one. Until that one runs, the native thread's variable
 * points to the ended thread's execution context. That may be freed, and hold anything.
 * ruby_thread_has_gvl_p() reads the same context, so it can't tell. One call allocates in
 * between: this one, by which Ruby asks for the new thread's stack. Inside it we read
 * nothing of Ruby's.
 */
#include <errno.h>
#include <pthread.h>

#include "tracker/caller/ruby/frame.h"
#include "tracker/real/real.h"
#include "tracker/track/track.h"

static int getattr(pthread_t thread, pthread_attr_t *attr)
{
	mw_real_init();
	return mw_next.pthread_getattr_np ? mw_next.pthread_getattr_np(thread, attr) : ENOSYS;
}

/* Busy, as if a signal handler called the allocator: blocks count at native callers. */
static int getattr_busy(struct mw_shard *t, pthread_t thread, pthread_attr_t *attr)
{
	MW_GUARD(t);
	return getattr(thread, attr);
}

/* Results and errors are the C library's. */
MW_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	struct mw_shard *t = mw_get(&mw_ruby.how) == MW_RUBY_NONE ? NULL : mw_shard_now();

	return t ? getattr_busy(t, thread, attr) : getattr(thread, attr);
}
