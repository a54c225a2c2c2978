/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts.c - see counts.h. */
#include "counts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"

/* As the kernel writes it. */
struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short size;
	unsigned char type;
	char name[];
};

static bool look_at(const char *path, struct stat *st)
{
	return mw_sys(SYS_newfstatat, AT_FDCWD, mw_sys_ptr(path), mw_sys_ptr(st), 0, 0) == 0;
}

/* A folder's links are "." and "..", and here one for each thread. */
static uint32_t count_threads(void)
{
	struct stat st;

	return look_at("/proc/self/task", &st) && st.st_nlink > 2 ?
		       (uint32_t)st.st_nlink - 2 :
		       MW_KIB_UNKNOWN;
}

/* Calls back with the name of each open descriptor; false: they can't be read. */
static bool each_fd(void (*fn)(const char *name, void *ctx), void *ctx)
{
	char entries[4096] __attribute__((aligned(8)));
	int fd = mw_sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n = -1;

	while (fd >= 0 && (n = mw_sys(SYS_getdents64, fd, mw_sys_ptr(entries), sizeof(entries), 0, 0)) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(const void *)(entries + at);

			if (e->name[0] != '.')
				fn(e->name, ctx);
			at += e->size;
		}
	if (fd >= 0)
		mw_sys_close(fd);
	return fd >= 0 && n == 0;
}

static void add_one(const char *name, void *ctx)
{
	(void)name;
	++*(uint32_t *)ctx;
}

static uint32_t count_fds(void)
{
	struct stat st;
	uint32_t n = 0;

	/* since Linux 6.2 the folder's size is their number */
	if (look_at("/proc/self/fd", &st) && st.st_size > 0)
		return (uint32_t)st.st_size;
	return each_fd(add_one, &n) && n ? n - 1 : MW_KIB_UNKNOWN; /* one is the list's own */
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

static void add_kind(const char *name, void *ctx)
{
	struct mw_fd_kinds *k = ctx;
	char path[48] = "/proc/self/fd/", to[16];
	ssize_t n;

	if (k->sockets + k->pipes + k->files + k->others >= MW_FDS_LOOKED) {
		k->unlooked++;
		return;
	}
	strncat(path, name, sizeof(path) - strlen(path) - 1);
	n = mw_sys_readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	if (!strncmp(to, "socket:", 7))
		k->sockets++;
	else if (!strncmp(to, "pipe:", 5))
		k->pipes++;
	else if (to[0] == '/')
		k->files++;
	else
		k->others++;
}

bool mw_fd_kinds(struct mw_fd_kinds *k)
{
	*k = (struct mw_fd_kinds){ 0 };
	return each_fd(add_kind, k);
}
