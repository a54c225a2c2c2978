/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <signal.h>

#include "sys.h"

int (*mw_thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = pthread_create;

static int create(pthread_t *t, int detached, void *(*run)(void *), void *arg, size_t stack)
{
	sigset_t all, old;
	pthread_attr_t a;
	int e;

	sigfillset(&all);
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, detached);
	pthread_attr_setstacksize(&a, stack);
	mw_sys_sigmask(SIG_SETMASK, &all, &old); /* inherited by the new thread */
	e = mw_thread_create(t, &a, run, arg);
	mw_sys_sigmask(SIG_SETMASK, &old, NULL); /* the C library's would clear its own two */
	pthread_attr_destroy(&a);
	return e;
}

int mw_thread_start(void *(*run)(void *), void *arg, size_t stack)
{
	pthread_t t;

	return create(&t, PTHREAD_CREATE_DETACHED, run, arg, stack);
}

int mw_thread_run(void *(*run)(void *), void *arg, size_t stack, void **result)
{
	pthread_t t;
	int e = create(&t, PTHREAD_CREATE_JOINABLE, run, arg, stack);

	return e ? e : pthread_join(t, result);
}
