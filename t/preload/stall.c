/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall.c - a machine that keeps the tracker's server from running. While the file
 * $STALL_WHILE exists, a call doesn't return in a thread of the tracker's (its name is
 * "mwrap"): with $STALL_AT=mmap that of 2 MiB and more, as
 * when counters are copied; with $STALL_AT=membarrier that system call, as in a reset.
 * Each time that one begins to wait, "stalled\n" is appended to $STALL_SAYS.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MUCH = 2 << 20 };

static char while_there[512], says[512];
static bool at_membarrier;
static long (*next)(long, ...);

__attribute__((constructor)) static void start(void)
{
	const char *a = getenv("STALL_WHILE"), *b = getenv("STALL_SAYS");

	next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	at_membarrier = getenv("STALL_AT") && !strcmp(getenv("STALL_AT"), "membarrier");
	snprintf(while_there, sizeof(while_there), "%s", a ? a : "");
	snprintf(says, sizeof(says), "%s", b ? b : "");
}

/* Before the constructor ran, the system is asked by the C library's. */
static long ask(long n, long a, long b, long c, long d, long e, long f)
{
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(n, a, b, c, d, e, f);
}

static bool is_trackers(void)
{
	char name[16] = "";

	return *while_there && !ask(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0) &&
	       !strcmp(name, "mwrap");
}

static void stall(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int e = errno, log;

	if (access(while_there, F_OK) == 0) {
		log = open(says, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (log < 0 || write(log, "stalled\n", 8) != 8)
			abort();
		close(log);
	}
	while (access(while_there, F_OK) == 0)
		nanosleep(&ms, NULL);
	errno = e;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (!at_membarrier && n >= MUCH && flags & MAP_ANONYMOUS && is_trackers())
		stall();
	return (void *)ask(SYS_mmap, (long)at, (long)n, prot, flags, fd, off);
}

long syscall(long n, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (at_membarrier && n == SYS_membarrier && is_trackers())
		stall();
	return ask(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}
