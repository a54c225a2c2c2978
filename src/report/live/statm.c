/* SPDX-License-Identifier: GPL-2.0-or-later */
/* statm.c - /proc/self/statm, kept open. See statm.h. */
#include "statm.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void mw_statm_open(struct mw_statm *s, int (*keep)(int fd))
{
	struct stat st;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && keep)
		fd = keep(fd);
	*s = (struct mw_statm){ .fd = fd };
	if (fd < 0)
		return;
	if (fstat(fd, &st)) {
		close(fd);
		s->fd = -1;
		return;
	}
	s->dev = st.st_dev;
	s->ino = st.st_ino;
}

int mw_statm_fd(const struct mw_statm *s)
{
	struct stat st;

	return s->fd >= 0 && !fstat(s->fd, &st) && st.st_dev == s->dev && st.st_ino == s->ino ? s->fd : -1;
}

void mw_statm_close(struct mw_statm *s)
{
	int fd = mw_statm_fd(s);

	s->fd = -1;
	if (fd >= 0)
		close(fd);
}
