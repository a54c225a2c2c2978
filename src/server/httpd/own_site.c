/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own_site.h"

#include <pthread.h>
#include <time.h>

#include "shared/sys/clock.h"
#include "shared/sys/libc.h"
#include "shared/sys/mutex.h"
#include "server/history/proc_file.h"
#include "descriptors.h"

static struct mw_site site; /* under the lock while it is lent; else the server's thread's */
/* of /proc/self; a forked child finds its descriptors here: see server_state.h */
static struct mw_proc_file statm = { .fd = -1 }, smaps = { .fd = -1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool lent; /* written by the server's thread under the lock */

struct mw_site *mw_own_site(void)
{
	return &site;
}

void mw_own_site_open(void)
{
	mw_proc_open(&statm, "/proc/self/statm", mw_fd_base());
	mw_proc_open(&smaps, "/proc/self/smaps", mw_fd_base());
}

unsigned mw_own_site_second(void)
{
	return mw_site_second(&site, &statm, &smaps);
}

void mw_own_site_close(void)
{
	mw_proc_close(&statm);
	mw_proc_close(&smaps);
}

void mw_own_site_child(void)
{
	statm.fd = smaps.fd = -1;
	mw_mutex_renew(&lock, MW_RANK_SERVER_SITE);
	lent = false;
}

void mw_own_site_lend(void)
{
	mw_own_site_take();
	lent = true;
}

void mw_own_site_take(void)
{
	mw_mutex_lock(&lock, MW_RANK_SERVER_SITE);
}

void mw_own_site_give(void)
{
	mw_mutex_unlock(&lock, MW_RANK_SERVER_SITE);
}

void mw_own_site_keep(void)
{
	/* the loop, and a panic in it, hold the lock; a panic elsewhere finds nothing lent */
	if (!lent)
		return;
	lent = false;
	mw_own_site_give();
}

bool mw_own_site_borrow(struct mw_site **to, unsigned ms)
{
	uint64_t ns = mw_now_ns() + ms * UINT64_C(1000000);
	const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
					.tv_nsec = (long)(ns % 1000000000) };

	mw_rank_wait(MW_RANK_SERVER_SITE);
	if (mw_libc_lock_until(&lock, &until))
		return false;
	mw_rank_took(MW_RANK_SERVER_SITE);
	if (!lent) {
		mw_own_site_give();
		return false;
	}
	(void)mw_own_site_second();
	*to = &site;
	return true;
}
