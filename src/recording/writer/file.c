/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - see file.h. System calls only: the application may interpose write(2). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/sys/sys.h"

static int fail_file(struct mw_record_file *f, int error)
{
	if (!f->error)
		f->error = error;
	return -1;
}

bool mw_record_file_make(struct mw_record_file *f, const char *path, mode_t mode, bool stays)
{
	struct stat st;
	int fd = -1;

	*f = (struct mw_record_file){ .fd = -1, .stays = stays };
	for (int i = 1; fd < 0 && i <= MW_RECORD_TRIES; i++) {
		int n = i == 1 ? snprintf(f->path, sizeof(f->path), "%s", path) :
				 snprintf(f->path, sizeof(f->path), "%s.%d", path, i);

		if (n < 0 || (size_t)n >= sizeof(f->path)) {
			f->error = ENAMETOOLONG;
			return false;
		}
		fd = mw_sys_open(f->path,
				 O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0 || mw_sys_fstat(fd, &st) != 0) {
		fail_file(f, errno);
		return false;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (stays)
		f->fd = fd;
	else
		mw_sys_close(fd);
	return true;
}

/* fd is of the file: returns it. Else closes it. */
static int check(struct mw_record_file *f, int fd)
{
	struct stat st;

	if (mw_sys_fstat(fd, &st) != 0 || st.st_dev != f->dev || st.st_ino != f->ino) {
		mw_sys_close(fd);
		return fail_file(f, ESTALE);
	}
	return fd;
}

static int open_again(struct mw_record_file *f)
{
	int fd = mw_sys_open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0);

	return fd < 0 ? fail_file(f, errno) : check(f, fd);
}

bool mw_record_file_open(struct mw_record_file *f, int fd, bool stays)
{
	f->stays = stays;
	if (stays && !f->error)
		f->fd = fd >= 0 ? check(f, fd) : open_again(f);
	return !f->error;
}

bool mw_record_file_add(struct mw_record_file *f, const void *p, size_t n)
{
	int fd;
	size_t done = 0;

	if (f->error)
		return false;
	fd = f->stays ? f->fd : open_again(f);
	if (fd < 0)
		return false;
	while (done < n) {
		ssize_t wrote = mw_sys_write(fd, (const char *)p + done, n - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			fail_file(f, wrote ? errno : EIO);
			break;
		}
		done += (size_t)wrote;
	}
	if (done == n)
		f->bytes += n;
	else /* a reader needs no half frame */
		(void)mw_sys(SYS_ftruncate, fd, (long)f->bytes, 0, 0, 0);
	if (!f->stays)
		mw_sys_close(fd);
	return done == n;
}

void mw_record_file_close(struct mw_record_file *f)
{
	if (f->fd >= 0)
		mw_sys_close(f->fd);
	f->fd = -1;
}
