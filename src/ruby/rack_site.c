/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_site.c - the site of a process with MwrapRack: one for all instances. See rack.h.
 *
 * The lock is C's, not Ruby's: threads wait for it without the GVL. No Fiber scheduler waits for
 * it, which could leave a thread in quiet mode. A child forked while another thread held the lock
 * gets a new one. That thread's unfinished work is then lost instead of freed (mw_site_start looks
 * at `busy`).
 */
#include <pthread.h>
#include <string.h>

#include "rack.h"
#include "report/live/proc_file.h"

static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static struct mw_site site;
static struct mw_proc_file statm = { .fd = -1 }, smaps = { .fd = -1 };

enum { NUMBERS = 512 }; /* our descriptors get higher ones, if they are allowed */

/* In a forked child, which has no other thread: system calls and stores only. */
static void in_child(void)
{
	memcpy(&lock, &fresh, sizeof(lock));
	started = false;
	mw_proc_close(&statm);
	mw_proc_close(&smaps);
}

struct mw_site *mw_site_take(void)
{
	static bool listens;

	pthread_mutex_lock(&lock);
	if (!listens) /* to forks */
		listens = !pthread_atfork(NULL, NULL, in_child);
	if (!started)
		mw_site_start(&site, mw_tracker);
	started = true;
	if (mw_proc_fd(&statm) < 0)
		mw_proc_open(&statm, "/proc/self/statm", NUMBERS);
	if (mw_proc_fd(&smaps) < 0)
		mw_proc_open(&smaps, "/proc/self/smaps", NUMBERS);
	mw_site_second(&site, &statm, &smaps);
	return &site;
}

void mw_site_give(void)
{
	pthread_mutex_unlock(&lock);
}

struct mw_stream *mw_site_stream(void)
{
	return &site.stream;
}

static void second(void)
{
	(void)mw_site_take();
	mw_site_give();
}

void mw_site_begin(void)
{
	if (mw_tracker->every_second)
		(void)mw_tracker->every_second(second);
}
