/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck.c - a disk that hangs: write(2) to a file whose name, or whose directory's, ends in ".tmp"
 * doesn't return while the file $STUCK_WHILE exists. Each time that one
 * begins to hang, "stuck\n" is appended to $STUCK_SAYS. With $STUCK_SHARED the
 * kernel has no close_range(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char while_there[512], says[512];
static bool shared;

__attribute__((constructor)) static void start(void)
{
	const char *a = getenv("STUCK_WHILE"), *b = getenv("STUCK_SAYS");

	snprintf(while_there, sizeof(while_there), "%s", a ? a : "");
	shared = getenv("STUCK_SHARED") != NULL;
	snprintf(says, sizeof(says), "%s", b ? b : "");
}

static bool ours(int fd)
{
	char link[64], name[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n <= 4)
		return false;
	name[n] = '\0';
	return !memcmp(name + n - 4, ".tmp", 4) || strstr(name, ".tmp/");
}

int close_range(unsigned from, unsigned to, int flags)
{
	if (!shared)
		return (int)syscall(SYS_close_range, from, to, flags);
	errno = ENOSYS;
	return -1;
}

ssize_t write(int fd, const void *p, size_t n)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int log;

	if (*while_there && access(while_there, F_OK) == 0 && ours(fd)) {
		log = open(says, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (log >= 0) {
			syscall(SYS_write, log, "stuck\n", 6);
			close(log);
		}
		while (access(while_there, F_OK) == 0)
			nanosleep(&ms, NULL);
	}
	return syscall(SYS_write, fd, p, n);
}
