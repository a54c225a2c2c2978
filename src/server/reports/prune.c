/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prune.c - removes old reports, and unfinished ones of processes that were killed. See folder.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "folder.h"

enum { STAMP = 16, FOUND_MAX = 4096, STALE_S = 3600 };

struct found {
	char name[MW_REPORT_NAME + 8];
	char stamp[STAMP + 1];
	uint64_t bytes;
	bool hidden;
};

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* Takes "APP-17-20261125T031500Z", also with ".first", or with "." and ".tmp" around it. */
static bool read_name(const char *name, const char *app, struct found *to)
{
	size_t n = strlen(app);
	const char *s = name;

	to->hidden = *s == '.';
	s += to->hidden;
	if (strlen(name) >= sizeof(to->name) || strncmp(s, app, n) || s[n] != '-' || !digits(s + n + 1))
		return false;
	s += n + 1;
	s += digits(s);
	if (*s != '-' || digits(s + 1) != 8 || s[9] != 'T' || digits(s + 10) != 6 || s[16] != 'Z')
		return false;
	memcpy(to->stamp, s + 1, STAMP);
	to->stamp[STAMP] = '\0';
	strcpy(to->name, name);
	s += 1 + STAMP;
	return to->hidden ? !strcmp(s, ".tmp") : !*s || !strcmp(s, ".first");
}

static bool is_ours(const char *file)
{
	for (int i = 0; i < MW_REPORT_FILES; i++)
		if (!strcmp(file, mw_report_files[i]))
			return true;
	return !strcmp(file, ".") || !strcmp(file, "..");
}

/* Its size. False: it isn't a report of this user, or has something else in it. */
static bool measure(int dir, struct found *f, time_t now, bool locked)
{
	struct stat st;
	int fd = mw_folder_enter(dir, f->name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool ours;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	ours = !fstat(fd, &st) && st.st_uid == geteuid();
	/* without a lock another process may be writing it */
	if (f->hidden && !locked && now - st.st_mtime < STALE_S)
		ours = false;
	f->bytes = 0;
	while (ours && (e = readdir(d))) {
		ours = is_ours(e->d_name) && !fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW);
		if (ours && S_ISREG(st.st_mode))
			f->bytes += (uint64_t)st.st_size;
	}
	closedir(d);
	return ours;
}

/* The newest first. */
static int by_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int by = strcmp(y->stamp, x->stamp);

	return by ? by : strcmp(y->name, x->name);
}

/* All of the app, malloc'ed; half-written ones are removed at once. */
static struct found *find_reports(struct mw_folder *folder, const char *app, size_t *n)
{
	struct found *v = calloc(FOUND_MAX, sizeof(*v));
	int fd = openat(folder->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;
	time_t now;

	*n = 0;
	if (!d && fd >= 0)
		close(fd);
	if (!v || !d || fstat(fd, &st)) {
		if (d)
			closedir(d);
		return v;
	}
	now = st.st_mtime; /* of the file system's clock: a report was just written there */
	while (*n < FOUND_MAX && (e = readdir(d))) {
		struct found *f = &v[*n];

		if (!read_name(e->d_name, app, f) || !measure(folder->dir, f, now, folder->locked))
			continue;
		if (f->hidden)
			mw_folder_remove(folder->dir, f->name);
		else
			++*n;
	}
	closedir(d);
	return v;
}

void mw_folder_prune(struct mw_folder *folder, const char *app, uint64_t keep, uint64_t max)
{
	size_t n;
	struct found *v = find_reports(folder, app, &n);
	uint64_t bytes = 0;

	if (!v)
		return;
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++) {
		bytes += v[i].bytes;
		if (i && (i >= keep || bytes > max))
			mw_folder_remove(folder->dir, v[i].name);
	}
	free(v);
}
