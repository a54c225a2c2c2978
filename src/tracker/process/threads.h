/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads.h - starts the tracker's own threads, and lets them leave and come back (tracker/base/own_thread.h).
 *
 * Each of the four that live as long as the process (server, dumper, recorder, seconds) has a struct
 * mw_host_thread. Its run() returns true if it left because it must: then it keeps what it needs in static
 * memory, and is called again in a new thread. Short-lived ones, as those that answer a request, only end.
 *
 * In a child that was forked past fork() (mw_fork_missed) none exists, whatever the words say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MW_THREAD_OVER: it has ended, and another one may be started. */
enum { MW_THREAD_NONE, MW_THREAD_RUNS, MW_THREAD_LEFT, MW_THREAD_OVER };

struct mw_host_thread {
	bool (*run)(void);
	size_t stack; /* bytes */
	const char *failed; /* begins the line on stderr if it can't be created */
	void (*lost)(void); /* it left, and can't be created again; NULL: nothing to do */
	uint32_t is; /* release */
};
extern struct mw_host_thread mw_server_thread, mw_dumper_thread, mw_recorder_thread, mw_seconds_thread;

/*
 * Starts it, unless it exists. Returns 0, or an errno: a line was logged. While own threads must be gone,
 * it begins afterwards.
 */
int mw_host_thread_start(struct mw_host_thread *);
/* If it has left, it begins again. False: it can't be created. */
bool mw_host_thread_back(struct mw_host_thread *);
/* Does it run, or has it left for a moment? */
bool mw_host_thread_exists(const struct mw_host_thread *);

/* In api.h: thread_start, thread_run. */
int mw_own_thread_start(void *(*run)(void *), void *arg, size_t stack);
int mw_own_thread_run(void *(*run)(void *), void *arg, size_t stack, void **result);
/* Why one of these or mw_host_thread_start returned that errno: a text that stays. In a quiet section. */
const char *mw_own_thread_refused(int error);

/*
 * leave.c. Around a call of the app's that changes what the kernel keeps for each thread. False: nothing is to be done, and
 * back isn't called. They wait for own threads for a second at most. They keep errno.
 */
bool mw_host_threads_leave(void);
void mw_host_threads_back(void);
/* In a forked child: there are none. */
void mw_host_threads_child(void);
