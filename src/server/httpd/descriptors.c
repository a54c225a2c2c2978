/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int base;

/*
 * Our numbers lie above 1023, which select(2) in the application can't use, or in the upper half of
 * a smaller range.
 */
void mw_fd_start(void)
{
	struct rlimit rl = { .rlim_cur = 1024 };

	getrlimit(RLIMIT_NOFILE, &rl);
	base = rl.rlim_cur / 2 > 1024 ? 1024 : (int)(rl.rlim_cur / 2);
}

int mw_fd_base(void)
{
	return base;
}

int mw_fd_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, base);
}

/*
 * The first move takes some 10 ms, while the kernel enlarges the descriptor table. Meanwhile the
 * application may have closed `fd` and opened its own file there, which isn't ours to close.
 */
int mw_fd_high(int fd)
{
	int high = fd < 0 ? -1 : mw_fd_copy(fd);
	struct stat a, b;

	if (high < 0)
		return fd;
	if (!fstat(high, &a) && !fstat(fd, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		close(fd);
	return high;
}
