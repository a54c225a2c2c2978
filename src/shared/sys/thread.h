/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread.h - starts a thread of ours, in the tracker, the server or the extension.
 *
 * It runs none of the app's signal handlers: every signal is blocked in it.
 * stack: in bytes; libraries' thread-local data takes its room there, too.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* The function that makes it: the C library's own, also if a preload in front of the tracker interposes it (real.c). */
extern __attribute__((visibility("hidden"))) int (*mw_thread_create)(pthread_t *, const pthread_attr_t *,
								     void *(*)(void *), void *);

/* Starts run(arg) in a detached thread. Returns 0, or an errno. */
int mw_thread_start(void *(*run)(void *), void *arg, size_t stack);

/* Runs run(arg) in a thread and waits for its *result. Returns 0, or an errno: it didn't run. */
int mw_thread_run(void *(*run)(void *), void *arg, size_t stack, void **result);
