/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play_threads.h - a thread for each recorded one, of which one runs at a time.
 *
 * The thread whose turn it is reads the next event. If that is another thread's, it hands the turn over and
 * waits. So the order of calls is the recorded one, whatever the kernel's scheduler does, and each
 * thread's calls still come from a thread of its own, with its arena and its caches. Thread 0 is the
 * process's main thread. A thread that ends has ended before the next event is played.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The next step in the recorded order. */
enum mw_play_next {
	MW_PLAY_EVENT, /* *thread: whose */
	MW_PLAY_OVER
};

struct mw_play_turns {
	/* The three are called by the thread whose turn it is. */
	enum mw_play_next (*next)(void *ctx, uint32_t *thread);
	void (*play)(void *ctx); /* the event that next found */
	bool (*ends)(void *ctx); /* is that event its thread's last one? */
	void (*resume)(void *ctx); /* this thread goes on after others */
	void *ctx;
};

/*
 * Plays all, from the main thread, and returns when all is played. False: a thread can't be
 * made; *error is errno. Other threads that haven't ended wait for ever then. Once in a process.
 */
bool mw_play_threads(const struct mw_play_turns *, uint32_t *made, int *error);
