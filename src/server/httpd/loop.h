/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.h - the sleep of the server's thread, and its events. See loop.c. That thread only, except
 * mw_loop_wake(), and what is for a forked child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/options/options.h"

struct epoll_event;

/* Opens the loop's descriptors. Returns 0; -1: a line in err. */
int mw_loop_open(char err[MW_ERROR_MAX]);
/* Sleeps for `ms` at most. Returns how many events came, of `max`; -1: the descriptor isn't ours. */
int mw_loop_sleep(struct epoll_event *, int max, int ms);
/* True if an event is a wake; ends that. */
bool mw_loop_woken(const void *about);
/* Ends the loop's sleep, or the next one. Any thread; keeps errno. */
void mw_loop_wake(void);
/* The eventfd, for a thread that has its own descriptor table and wakes the loop; -1: none. */
int mw_loop_wake_fd(void);
/*
 * Closes the loop's descriptors; if not `intact`, leaves open what may be the application's. Within
 * mw_moves_begin().
 */
void mw_loop_close(bool intact);

/* As epoll_ctl(2) does. `about` identifies the events. Return 0, or -1 with errno. */
int mw_loop_add(int fd, uint32_t events, void *about);
int mw_loop_change(int fd, uint32_t events, void *about);

/* Puts our eventfd into another epoll: it marks that one as ours. Returns 0, or -1 with errno. */
int mw_loop_mark(int epfd);
/* True if epfd is an epoll with that mark. Also in a forked child. */
bool mw_loop_marked(int epfd);

/* In a forked child: true if the loop's descriptors are still the parent's. */
bool mw_loop_ours(void);
/* In a forked child: closes them. */
void mw_loop_inherited(void);
/* In a forked child: there are none. */
void mw_loop_forget(void);

/* The sooner of `ms` and `a`; a negative `a` means that there is none. At most a minute. */
static inline int mw_sooner(int a, uint64_t ms)
{
	int b = ms > 60000 ? 60000 : (int)ms;

	return a < 0 || b < a ? b : a;
}
