/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_threads.h - the threads of a struct mw_api that tests make up, and functions that know and do nothing. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/api/api.h"

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

__attribute__((unused)) static bool no_row(const char *location, size_t n, struct mw_row *row)
{
	(void)location;
	(void)n;
	(void)row;
	return false; /* everything by way of a snapshot */
}

static size_t no_source(const char *name, size_t n, char *to, size_t size)
{
	(void)name;
	(void)n;
	(void)to;
	(void)size;
	return 0;
}

static bool no_server(struct mw_family *endpoint)
{
	(void)endpoint;
	return false;
}

__attribute__((unused)) static void no_set_stacks(uint64_t rate, bool automatic)
{
	(void)rate;
	(void)automatic;
}

#define FAKE_THREADS \
	.thread_start = fake_thread_start, .thread_run = fake_thread_run, .leaving = fake_leaving
