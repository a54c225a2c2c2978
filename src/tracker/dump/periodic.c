/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * periodic.c - the periodic dumps: names, one whole file, the last few kept.
 *
 *   dump_path, with %p    PATH.20260131T235959Z      (UTC)
 *   without               PATH.PID.20260131T235959Z
 *
 * Each process has names of its own and uses none twice: the time goes up by a
 * second at least. So names sort by time, and no process replaces the files
 * of a killed one. Only the process that wrote a file removes it.
 *
 * Each call makes its own DIR/.NAME.tmp (O_EXCL), writes it, and renames it
 * when it is whole. It allocates nothing and holds no lock: the disk may be
 * stuck, and the process forks and goes on meanwhile. The removal at exit
 * makes its system calls itself (sys.h).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "shared/report/columns.h"
#include "dump.h"
#include "shared/text/utc.h"

static int64_t written[MW_KEEP_MAX + 1]; /* seconds since 1970: a ring of the existing files */
static uint32_t oldest, files;
static int64_t last;      /* the time in the newest name, written or not */
static int open_fd = -1;  /* the descriptor that a forked child would inherit; atomic */
static struct mw_log_told told;
static char final[PATH_MAX], hidden[PATH_MAX]; /* the files of the present write */

/* --- names ---------------------------------------------------------------- */

/* Does the path contain the process's number, %p? */
static bool has_pid(const char *value)
{
	for (; (value = strchr(value, '%')) && value[1]; value += 2)
		if (value[1] == 'p')
			return true;
	return false;
}

/* Writes the name for a time to final[]; 0 or an errno. */
static int name_for(const struct mw_options *o, int64_t t)
{
	long pid = (long)mw_sys_getpid();
	int n = mw_options_expand(o->dump_path, pid, final, sizeof(final));
	char at[MW_UTC_STAMP];

	mw_utc_stamp(at, t);
	if (n >= 0 && !has_pid(o->dump_path))
		n += snprintf(final + n, sizeof(final) - (size_t)n, ".%ld", pid);
	if (n >= 0 && (size_t)n < sizeof(final))
		n += snprintf(final + n, sizeof(final) - (size_t)n, ".%s", at);
	return n >= 0 && (size_t)n < sizeof(final) ? 0 : ENAMETOOLONG;
}

/* Writes the hidden name, in the same folder, to hidden[]; 0 or an errno. */
static int hide_name(void)
{
	const char *slash = strrchr(final, '/');
	int dir = slash ? (int)(slash + 1 - final) : 0;
	int n = snprintf(hidden, sizeof(hidden), "%.*s.%s.tmp", dir, final, final + dir);

	return n > 0 && (size_t)n < sizeof(hidden) ? 0 : ENAMETOOLONG;
}

/* --- one file ------------------------------------------------------------- */

/* A descriptor above 2: the app could take a lower one for its own. */
static int open_hidden(mode_t mode)
{
	int fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, mode), up;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (up >= 0)
		close(fd);
	return up >= 0 ? up : fd;
}

/* Writes, unless the app closed the descriptor and opened another file in its place: EBADF. */
static int fill_made_file(int fd, const struct stat *made, const struct mw_buf *b)
{
	struct stat is;

	if (fstat(fd, &is) < 0 || is.st_ino != made->st_ino || is.st_dev != made->st_dev)
		return EBADF;
	return mw_dump_write(write, fd, b->p, b->n);
}

/* Writes the whole dump under its hidden name. 0, or an errno; then the file is removed. */
static int write_hidden(const struct mw_buf *b, bool shared, mode_t mode)
{
	struct stat made;
	int fd = open_hidden(mode), err;

	if (fd < 0)
		return errno;
	if (shared)
		__atomic_store_n(&open_fd, fd, __ATOMIC_RELEASE);
	err = fstat(fd, &made) < 0 ? errno : fill_made_file(fd, &made, b);
	__atomic_store_n(&open_fd, -1, __ATOMIC_RELEASE);
	if (err != EBADF && close(fd) < 0 && errno != EINTR && !err)
		err = errno;
	if (err)
		(void)unlink(hidden);
	return err;
}

/* Removes the oldest beyond `keep`. */
static void prune(const struct mw_options *o, uint64_t keep)
{
	while (files > keep) {
		if (name_for(o, written[oldest]) == 0)
			(void)mw_sys_unlink(final);
		oldest = (oldest + 1) % (MW_KEEP_MAX + 1);
		files--;
	}
}

int mw_periodic_write(const struct mw_buf *b, const struct mw_options *o, bool shared)
{
	time_t now = mw_unix_time();
	int err;

	last = now > last ? now : last + 1;
	err = name_for(o, last);
	if (!err)
		err = hide_name();
	if (!err)
		err = write_hidden(b, shared, (mode_t)o->file_mode);
	if (err)
		return err;
	if (rename(hidden, final) < 0) {
		err = errno;
		(void)unlink(hidden);
		return err;
	}
	written[(oldest + files++) % (MW_KEEP_MAX + 1)] = last;
	prune(o, o->dump_keep);
	return 0;
}

bool mw_periodic_render(struct mw_buf *b, const struct mw_api *api)
{
	/* live bytes explain a process that ran out of memory; totals don't */
	return mw_dump_render(b, api, mw_column_find("live_bytes", strlen("live_bytes")));
}

void mw_periodic_complain(int err, const struct mw_options *o)
{
	if (mw_log_first(&told, err))
		mw_dump_complain_errno("dump_every", o->dump_path, err);
}

void mw_periodic_remove(const struct mw_options *o)
{
	prune(o, 0);
}

void mw_periodic_child(void)
{
	int fd = __atomic_exchange_n(&open_fd, -1, __ATOMIC_ACQ_REL);

	if (fd >= 0)
		close(fd);
	files = 0;
	last = 0;
}
