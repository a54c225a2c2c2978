/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pthread.c - a native thread that Ruby uses again for another of its own.
 *
 * Up to 3.2 Ruby keeps a native thread for some seconds when its Ruby thread has
 * ended, and gives it the next one. Until that one runs, the execution context
 * that the native thread's variable points to is the ended thread's, which may
 * have been freed and be anything by now; nor does ruby_thread_has_gvl_p() look
 * at anything else. What allocates in between is this call, by which Ruby asks for the
 * new thread's stack: inside it nothing of Ruby's is looked at.
 */
#include <errno.h>
#include <pthread.h>

#include "caller/ruby/frame.h"
#include "track/track.h"

/* Results and errors are the C library's. */
MW_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	static int (*next)(pthread_t, pthread_attr_t *); /* relaxed: the same whoever finds it */
	int (*f)(pthread_t, pthread_attr_t *) = mw_get(&next);
	struct mw_shard *t = mw_get(&mw_ruby.how) == MW_RUBY_NONE ? NULL : mw_permitted();
	int r;

	/* busy, as if a signal handler called the allocator: counted at its native caller */
	if (t)
		mw_enter(t);
	if (!f) {
		f = (int (*)(pthread_t, pthread_attr_t *))mw_real_next("pthread_getattr_np");
		mw_set(&next, f);
	}
	r = f ? f(thread, attr) : ENOSYS;
	if (t)
		mw_leave(t);
	return r;
}
