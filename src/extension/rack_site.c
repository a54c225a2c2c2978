/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_site.c - the site of a process with MwrapRack. See rack.h.
 *
 * A process has one site. If it has a server, that is the server's, which lends it: there is one
 * history, whichever way it is asked. Else it is ours, one for all instances. After the end of a
 * server ours begins.
 *
 * Our lock is C's, not Ruby's: threads wait for it without the GVL. No Fiber scheduler waits for
 * it, which could leave a thread in quiet mode. A child forked while another thread held the lock
 * gets a new one. That thread's unfinished work is then lost instead of freed (mw_site_start looks
 * at `busy`).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "rack.h"
#include "shared/sys/mutex.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static struct mw_site site;
static struct mw_proc_file statm = { .fd = -1 }, smaps = { .fd = -1 };

enum { NUMBERS = 512 }; /* our descriptors get higher ones, if they are allowed */

/* In a forked child, which has no other thread: system calls and stores only. */
static void in_child(void)
{
	mw_mutex_renew(&lock, MW_RANK_RACK_SITE);
	started = false;
	mw_offers->proc_close(&statm);
	mw_offers->proc_close(&smaps);
}

/* As mw_api.server_site. */
static enum mw_site_is take_servers(struct mw_site **to, unsigned ms)
{
	return mw_tracker->server_site ? mw_tracker->server_site(to, ms) : MW_SITE_NONE;
}

static void second(void)
{
	mw_site_give(mw_site_take(0)); /* a forked child may have a server, though its parent had none */
}

/* From now on ours goes on by itself. */
static void begin_seconds(void)
{
	static atomic_bool begun; /* relaxed: no other data depends on it */

	if (mw_tracker->every_second && !atomic_exchange_explicit(&begun, true, memory_order_relaxed))
		(void)mw_tracker->every_second(second);
}

static struct mw_site *take_ours(void)
{
	static bool listens;

	begin_seconds();
	mw_mutex_lock(&lock, MW_RANK_RACK_SITE);
	if (!listens) /* to forks */
		listens = !pthread_atfork(NULL, NULL, in_child);
	if (!started)
		mw_offers->site_start(&site, mw_tracker);
	started = true;
	if (mw_offers->proc_fd(&statm) < 0)
		mw_offers->proc_open(&statm, "/proc/self/statm", NUMBERS);
	if (mw_offers->proc_fd(&smaps) < 0)
		mw_offers->proc_open(&smaps, "/proc/self/smaps", NUMBERS);
	mw_offers->site_second(&site, &statm, &smaps);
	return &site;
}

struct mw_site *mw_site_take(unsigned ms)
{
	struct mw_site *servers;
	enum mw_site_is is = take_servers(&servers, ms);

	if (is == MW_SITE_TAKEN)
		return servers;
	return is == MW_SITE_BUSY ? NULL : take_ours();
}

void mw_site_give(struct mw_site *s)
{
	if (s == &site)
		mw_mutex_unlock(&lock, MW_RANK_RACK_SITE);
	else if (s)
		mw_tracker->server_site_give();
}

static void *begin_site(void *unused)
{
	struct mw_site *servers;
	enum mw_site_is is;

	mw_tracker->quiet_enter();
	is = take_servers(&servers, 0);
	if (is == MW_SITE_TAKEN)
		mw_tracker->server_site_give();
	else if (is == MW_SITE_NONE)
		begin_seconds();
	mw_tracker->quiet_leave();
	return NULL;
}

void mw_site_begin(void)
{
	mw_without_gvl(begin_site, NULL);
}
