/* SPDX-License-Identifier: GPL-2.0-or-later */
/* members.c - a family's processes, by the names of sockets; facts from /proc. See family.h. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "family.h"

/* A number of at most `most` digits, not beginning with 0; returns how many, 0: none. */
static size_t digits(const char *s, size_t n, size_t most, uint64_t *v)
{
	size_t i = 0;

	*v = 0;
	if (n && *s == '0')
		return 0;
	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
		if (i == most)
			return 0;
		*v = *v * 10 + (uint64_t)(s[i] - '0');
	}
	return i;
}

size_t mw_read_process(const char *s, size_t n, long *pid, uint64_t *ns)
{
	enum { DIGITS = 19 };
	uint64_t number;
	size_t used = digits(s, n, DIGITS, &number), more = 0;

	*ns = 0;
	*pid = (long)number;
	if (number > LONG_MAX)
		return 0;
	if (used && used < n && s[used] == '-') {
		more = digits(s + used + 1, n - used - 1, DIGITS, ns);
		return more ? used + 1 + more : 0;
	}
	return used;
}

void mw_put_process(struct mw_buf *b, long pid, uint64_t ns, bool json)
{
	if (!ns)
		mw_buf_fmt(b, "%ld", pid);
	else
		mw_buf_fmt(b, json ? "\"%ld-%" PRIu64 "\"" : "%ld-%" PRIu64, pid, ns);
}

enum { PID_MOST = 999999999 }; /* the kernel has fewer */

struct listing {
	struct mw_member *v;
	size_t n, room;
	bool failed;
};

static void add_member(struct listing *l, long pid, uint64_t ns, const char *dir, const char *name)
{
	struct mw_member *more;
	int len;

	if (l->n == l->room && !l->failed && l->n < MW_FAMILY_MAX) {
		l->room = l->room ? l->room * 2 : 16;
		more = realloc(l->v, l->room * sizeof(*more));
		if (more)
			l->v = more;
		l->failed = !more;
	}
	if (l->failed || l->n == l->room)
		return;
	l->v[l->n].pid = pid;
	l->v[l->n].ns = ns;
	len = snprintf(l->v[l->n].socket, MW_SOCKET_PATH, "%s/%s", dir, name);
	if (len > 0 && (size_t)len < MW_SOCKET_PATH)
		l->n++;
}

/* The process in a socket's name; false: none. base: the file name of `socket`, NULL: `socket_dir`. */
static bool process_of(const char *name, const char *base, long *pid, uint64_t *ns)
{
	size_t n = strlen(name), from = base ? strlen(base) + 1 : 0;

	if (base && (n <= from || memcmp(name, base, from - 1) || name[from - 1] != '.'))
		return false;
	if (!base) {
		if (n <= 5 || strcmp(name + n - 5, ".sock"))
			return false;
		n -= 5;
	}
	return mw_read_process(name + from, n - from, pid, ns) == n - from && *pid <= PID_MOST;
}

/* Removes `suffix` from the end of the name; false: it isn't there. */
static bool strip(char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	if (n <= s || strcmp(name + n - s, suffix) != 0)
		return false;
	name[n - s] = '\0';
	return true;
}

/* locks: by the names of socket locks, else of sockets. */
static void list(struct listing *l, const char *dir, const char *base, bool locks)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d) {
		l->failed = true;
		return;
	}
	while ((e = readdir(d))) {
		uint64_t ns;
		long pid;

		if (locks && !strip(e->d_name, ".lock"))
			continue;
		if (process_of(e->d_name, base, &pid, &ns))
			add_member(l, pid, ns, dir, e->d_name);
		else if (base && !strcmp(e->d_name, base))
			add_member(l, 0, 0, dir, e->d_name);
	}
	closedir(d);
}

static struct mw_member *members(const struct mw_family *f, size_t *n, bool locks)
{
	struct listing l = { 0 };
	char dir[MW_SOCKET_PATH];
	const char *slash = strrchr(f->path, '/');

	if (slash) {
		snprintf(dir, sizeof(dir), "%.*s", slash > f->path ? (int)(slash - f->path) : 1, f->path);
		list(&l, dir, slash + 1, locks);
	} else if (f->dir[0]) {
		list(&l, f->dir, NULL, locks);
	}
	if (l.failed) {
		free(l.v);
		l = (struct listing){ 0 };
	}
	*n = l.n;
	return l.v;
}

struct mw_member *mw_members(const struct mw_family *f, size_t *n)
{
	return members(f, n, false);
}

struct mw_member *mw_members_locks(const struct mw_family *f, size_t *n)
{
	return members(f, n, true);
}

bool mw_member_identify(const struct mw_member *m, long *pid, uint64_t *ns)
{
	char path[MW_SOCKET_PATH + 8], text[MW_LOCK_NS_AT + 24];
	ssize_t n = 0;
	int fd;

	*pid = m->pid;
	*ns = m->ns;
	if (*pid && *ns)
		return true;
	snprintf(path, sizeof(path), "%s.lock", m->socket);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	memset(text + (n > 0 ? n : 0), 0, sizeof(text) - (size_t)(n > 0 ? n : 0));
	*ns = strtoull(text + MW_LOCK_NS_AT, NULL, 10);
	return sscanf(text, "mwrap %ld", pid) == 1;
}

/* Reads up to size - 1 bytes of a file of /proc, and adds a NUL; returns their number. */
static size_t slurp(long pid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, to, size - 1);
		close(fd);
	}
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void set_title(long pid, char *title, size_t size)
{
	size_t n = slurp(pid, "cmdline", title, size);

	while (n && !title[n - 1]) /* the rest of the arguments' room follows a title */
		n--;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)title[i] < 0x20)
			title[i] = ' ';
	while (n && title[n - 1] == ' ')
		n--;
	title[n] = '\0';
}

/* A number in /proc/PID/stat. which: the field, from 3 on. 0: none. */
static unsigned long long stat_field(long pid, int which)
{
	unsigned long long value = 0;
	char text[1024], *s;

	slurp(pid, "stat", text, sizeof(text));
	s = strrchr(text, ')'); /* the last one: the process's name may contain anything */
	for (int field = 2; s && field < which; field++)
		s = strchr(s + 1, ' ');
	return s && sscanf(s, " %llu", &value) == 1 ? value : 0;
}

long mw_parent_of(long pid)
{
	return (long)stat_field(pid, 4);
}

static double age_of(long pid)
{
	unsigned long long ticks = stat_field(pid, 22); /* after boot */

	if (!ticks)
		return 0;
	return (double)mw_clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void mw_process_facts(long pid, struct mw_process_facts *f)
{
	char text[128];
	uint64_t size, pages;

	*f = (struct mw_process_facts){ 0 };
	set_title(pid, f->title, sizeof(f->title));
	slurp(pid, "statm", text, sizeof(text));
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &size, &pages) == 2)
		f->rss = pages * mw_page_size();
	f->age = age_of(pid);
}
