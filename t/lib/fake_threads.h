/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_threads.h - the threads of a struct mw_api that tests make up. */
#ifndef FAKE_THREADS_H
#define FAKE_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

__attribute__((unused)) static int fake_thread_run(void *(*run)(void *), void *arg, size_t stack,
						   void **result)
{
	sigset_t all, old;
	pthread_t t;
	int e;

	(void)stack;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = pthread_create(&t, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e ? e : result ? pthread_join(t, result) : pthread_detach(t);
}

__attribute__((unused)) static int fake_thread_start(void *(*run)(void *), void *arg, size_t stack)
{
	return fake_thread_run(run, arg, stack, NULL);
}

__attribute__((unused)) static bool fake_leaving(void)
{
	return false;
}

#define FAKE_THREADS \
	.thread_start = fake_thread_start, .thread_run = fake_thread_run, .leaving = fake_leaving

#endif
