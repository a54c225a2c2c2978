/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void mw_proc_open(struct mw_proc_file *f, const char *path, int from)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int high = fd < 0 || fd >= from ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, from);
	struct stat st, low;

	*f = (struct mw_proc_file){ .fd = -1 };
	if (fd < 0 || fstat(high < 0 ? fd : high, &st))
		return;
	/* the first number may be the application's by now */
	if (high >= 0 && !fstat(fd, &low) && low.st_dev == st.st_dev && low.st_ino == st.st_ino)
		close(fd);
	*f = (struct mw_proc_file){ .fd = high < 0 ? fd : high, .dev = st.st_dev, .ino = st.st_ino };
}

int mw_proc_fd(const struct mw_proc_file *f)
{
	struct stat st;

	return f->fd >= 0 && !fstat(f->fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino ? f->fd : -1;
}

void mw_proc_close(struct mw_proc_file *f)
{
	if (mw_proc_fd(f) >= 0)
		close(f->fd);
	f->fd = -1;
}
