/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_site.c - the site of a process with MwrapRack: one for all instances. See rack.h.
 *
 * The lock is C's, not Ruby's: threads wait for it without the GVL. No Fiber scheduler waits for
 * it, which could leave a thread in quiet mode. A child forked while another thread held the lock
 * gets a new one. That thread's unfinished work is then lost instead of freed (mw_site_start looks
 * at `busy`).
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rack.h"

static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static struct mw_site site;
static struct { /* /proc/self/statm of this very process */
	int fd;
	dev_t dev;
	ino_t ino;
} statm = { .fd = -1 };

/* The application may have closed the descriptor and reused its number. */
static bool statm_is_ours(void)
{
	struct stat st;

	return statm.fd >= 0 && !fstat(statm.fd, &st) && st.st_dev == statm.dev && st.st_ino == statm.ino;
}

static int statm_fd(void)
{
	struct stat st;

	if (statm_is_ours())
		return statm.fd;
	statm.fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (statm.fd >= 0 && !fstat(statm.fd, &st)) {
		statm.dev = st.st_dev;
		statm.ino = st.st_ino;
	} else if (statm.fd >= 0) {
		close(statm.fd);
		statm.fd = -1;
	}
	return statm.fd;
}

/* In a forked child, which has no other thread: system calls and stores only. */
static void in_child(void)
{
	memcpy(&lock, &fresh, sizeof(lock));
	started = false;
	if (statm_is_ours())
		close(statm.fd);
	statm.fd = -1;
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
	mw_site_second(&site, mw_tracker, statm_fd());
	return &site;
}

void mw_site_give(void)
{
	pthread_mutex_unlock(&lock);
}
