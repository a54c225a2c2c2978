/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "shared/text/utc.h"

enum { TRIES = 100 };

void mw_folder_app(char app[MW_REPORT_APP], const char *text, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t to = 0;

	for (size_t i = 0; i < n && to < MW_REPORT_APP - 1; i++)
		app[to++] = text[i] && strchr(letters, text[i]) ? text[i] : '_';
	if (!to)
		app[to++] = '_';
	app[to] = '\0';
	if (app[0] == '.')
		app[0] = '_';
}

static void hidden_name(const struct mw_folder *f, char to[MW_REPORT_NAME + 8])
{
	snprintf(to, MW_REPORT_NAME + 8, ".%s.tmp", f->name);
}

static void first_name(const struct mw_folder *f, char to[MW_REPORT_NAME + 8])
{
	snprintf(to, MW_REPORT_NAME + 8, "%s.first", f->name);
}

int mw_folder_enter(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

int mw_folder_open(struct mw_folder *f, const char *path, mode_t mode)
{
	*f = (struct mw_folder){ .hidden = -1, .mode = mode };
	f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return errno;
	f->locked = !flock(f->dir, LOCK_EX | LOCK_NB);
	/* NFS and the like may have no locks */
	return !f->locked && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

/* A directory may be entered by each user that may read its files. */
static mode_t folder_mode(mode_t file)
{
	return 0700 | (file & 0040 ? 0050 : 0) | (file & 0004 ? 0005 : 0);
}

/* Makes the hidden directory, and opens it. */
static int make_hidden(struct mw_folder *f)
{
	char name[MW_REPORT_NAME + 8];

	hidden_name(f, name);
	if (mkdirat(f->dir, name, folder_mode(f->mode)))
		return errno;
	f->hidden = mw_folder_enter(f->dir, name);
	return f->hidden < 0 ? errno : 0;
}

static bool report_is_there(const struct mw_folder *f)
{
	char first[MW_REPORT_NAME + 8];
	struct stat st;

	first_name(f, first);
	return !fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) ||
	       !fstatat(f->dir, first, &st, AT_SYMLINK_NOFOLLOW);
}

int mw_folder_make(struct mw_folder *f, const char *app, long pid, int64_t unix_time)
{
	int err = EEXIST;

	for (int i = 0; i < TRIES && err == EEXIST; i++, unix_time++) {
		char at[MW_UTC_STAMP];

		mw_utc_stamp(at, unix_time);
		snprintf(f->name, sizeof(f->name), "%s-%ld-%s", app, pid, at);
		err = report_is_there(f) ? EEXIST : make_hidden(f);
	}
	return err;
}

static int write_whole_text(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t wrote = write(fd, text, n);

		if (wrote < 0 && errno != EINTR)
			return errno;
		text += wrote > 0 ? wrote : 0;
		n -= wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

int mw_folder_add(struct mw_folder *f, const char *file, const char *text, size_t n)
{
	int fd = openat(f->hidden, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, f->mode),
	    err;

	if (fd < 0)
		return errno;
	err = write_whole_text(fd, text, n);
	if (close(fd) && !err && errno != EINTR) /* a quota may show here */
		err = errno;
	return err;
}

static int copy_report_file(int from_dir, int to_dir, const char *file, mode_t mode)
{
	int from = openat(from_dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int to = from < 0 ? -1 : openat(to_dir, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int err = to < 0 ? errno : 0;
	char piece[4096];
	ssize_t n;

	while (!err && (n = read(from, piece, sizeof(piece))) != 0)
		err = n < 0 ? errno : write_whole_text(to, piece, (size_t)n);
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && !err)
		err = errno;
	return err;
}

int mw_folder_publish_first(struct mw_folder *f)
{
	char hidden[MW_REPORT_NAME + 8], first[MW_REPORT_NAME + 8];
	int before = f->hidden, err;

	hidden_name(f, hidden);
	first_name(f, first);
	if (renameat(f->dir, hidden, f->dir, first))
		return errno;
	f->first = true;
	f->hidden = -1;
	err = make_hidden(f);
	for (int i = 0; i < MW_REPORT_FIRST && !err; i++) {
		/* some file systems have no second name for a file */
		if (linkat(before, mw_report_files[i], f->hidden, mw_report_files[i], 0))
			err = errno == ENOENT ?
				      0 :
				      copy_report_file(before, f->hidden, mw_report_files[i], f->mode);
	}
	close(before);
	return err;
}

/* Removes a directory of ours; one with other files in it stays. fd: it, open, and closed here. */
static void remove_dir(int dir, const char *name, int fd)
{
	for (int i = 0; i < MW_REPORT_FILES; i++)
		(void)unlinkat(fd, mw_report_files[i], 0);
	close(fd);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

void mw_folder_remove(int dir, const char *name)
{
	int fd = mw_folder_enter(dir, name);

	if (fd >= 0)
		remove_dir(dir, name, fd);
}

int mw_folder_publish(struct mw_folder *f)
{
	char hidden[MW_REPORT_NAME + 8], first[MW_REPORT_NAME + 8];

	hidden_name(f, hidden);
	first_name(f, first);
	if (renameat(f->dir, hidden, f->dir, f->name))
		return errno;
	close(f->hidden);
	f->hidden = -1;
	mw_folder_remove(f->dir, first);
	return 0;
}

void mw_folder_close(struct mw_folder *f)
{
	char hidden[MW_REPORT_NAME + 8];

	if (f->hidden >= 0) {
		hidden_name(f, hidden);
		remove_dir(f->dir, hidden, f->hidden);
	}
	if (f->dir >= 0)
		close(f->dir);
	f->hidden = f->dir = -1;
}
