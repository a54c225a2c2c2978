/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "shared/sys/clock.h"
#include "shared/sys/maps.h"
#include "shared/sys/sys.h"

static bool stat_path(const char *path, struct stat *st)
{
	return mw_sys(SYS_newfstatat, AT_FDCWD, mw_sys_ptr(path), mw_sys_ptr(st), 0, 0) == 0;
}

/* A folder's links are "." and "..", and here one for each thread. */
static uint32_t count_threads(void)
{
	struct stat st;

	return stat_path("/proc/self/task", &st) && st.st_nlink > 2 ?
		       (uint32_t)st.st_nlink - 2 :
		       MW_KIB_UNKNOWN;
}

static void add_one(int fd, void *ctx)
{
	(void)fd;
	++*(uint32_t *)ctx;
}

static uint32_t count_fds(void)
{
	struct stat st;
	uint32_t n = 0;

	/* since Linux 6.2 the folder's size is their number */
	if (stat_path("/proc/self/fd", &st) && st.st_size > 0)
		return (uint32_t)st.st_size;
	return mw_numbers_each("/proc/self/fd", add_one, &n) && n ?
		       n - 1 :
		       MW_KIB_UNKNOWN; /* one is the list's own */
}

void mw_counts_second(struct mw_counts *c, struct mw_point *p)
{
	if (!c->read || p->t >= c->next) {
		uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), cost;

		c->threads = count_threads();
		c->fds = count_fds();
		cost = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		c->next = p->t + MW_COUNTS_SECONDS + (uint32_t)(cost * MW_COUNTS_SHARE / 1000000000);
		c->read = true;
	}
	p->threads = c->threads;
	p->fds = c->fds;
}
