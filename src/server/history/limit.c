/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "shared/text/json.h"

const char *const mw_limit_names[MW_LIMITS_N] = {
	[MW_LIMIT_NONE] = "none",
	[MW_LIMIT_MAX] = "memory.max",
	[MW_LIMIT_V1] = "memory.limit_in_bytes",
	[MW_LIMIT_AS] = "RLIMIT_AS",
	[MW_LIMIT_MACHINE] = "machine",
	[MW_LIMIT_HIGH] = "memory.high",
};

/* No limit is written as a number of pages near 2^63 in v1. */
#define ENDLESS (UINT64_C(1) << 60)

/* --- files ---------------------------------------------------------------------- */

/* Calls f for each line, until it returns true. A line that is longer than PATH_MAX is left out. */
static bool each_line(const char *path, bool (*f)(char *line, void *ctx), void *ctx)
{
	char text[PATH_MAX + 1];
	size_t n = 0;
	bool done = false, skip = false;
	ssize_t got;
	int fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	while (!done && (got = mw_sys_read(fd, text + n, PATH_MAX - n)) > 0) {
		char *line = text, *end;

		n += (size_t)got;
		text[n] = '\0';
		while (!done && (end = memchr(line, '\n', n - (size_t)(line - text)))) {
			*end = '\0';
			done = !skip && f(line, ctx);
			skip = false;
			line = end + 1;
		}
		n -= (size_t)(line - text);
		memmove(text, line, n);
		if (n == PATH_MAX) {
			skip = true;
			n = 0;
		}
	}
	if (!done && n && !skip) {
		text[n] = '\0';
		done = f(text, ctx);
	}
	mw_sys_close(fd);
	return done;
}

struct wanted {
	const char *key;
	uint64_t value;
};

static bool read_limit_number(const char *p, uint64_t *to)
{
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	*to = v;
	return true;
}

static bool is_wanted(char *line, void *ctx)
{
	struct wanted *w = ctx;
	size_t n = strlen(w->key);
	char *at;

	if (!n)
		return read_limit_number(line, &w->value) || true;
	if (w->key[n - 1] == '=') {
		at = strstr(line, w->key);
		if (at && read_limit_number(at + n, &w->value) && !strcmp(w->key, "total="))
			w->value /= 1000000;
		return at;
	}
	if (strncmp(line, w->key, n) != 0 || !strchr(" :", line[n]) || !line[n])
		return false;
	read_limit_number(line + n + strspn(line + n, ": "), &w->value);
	return true;
}

static uint64_t read_figure(const char *folder, const char *file, const char *key)
{
	char path[2 * PATH_MAX];
	struct wanted w = { key, MW_LIMIT_UNKNOWN };
	int n = snprintf(path, sizeof(path), "%s/%s", folder, file);

	if (n > 0 && (size_t)n < sizeof(path))
		each_line(path, is_wanted, &w);
	return w.value;
}

/* --- where the group is ----------------------------------------------------------- */

struct place {
	bool v1;
	bool found;                /* a mount */
	char path[PATH_MAX + 1];   /* of the group, of /proc/self/cgroup; "": it is in none */
	char mount[PATH_MAX + 1];  /* the mount point */
	char below[PATH_MAX + 1];  /* the rest of the path, "" or "/a/b" */
};

/* Is the word one of a list with commas? */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
		if (!strncmp(s, word, n) && (!s[n] || s[n] == ','))
			return true;
	return false;
}

/* "0::/a/b", or "4:cpu,memory:/a/b" */
static bool find_path(char *line, void *ctx)
{
	struct place *p = ctx;
	char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return false;
	*names++ = *path++ = '\0';
	if (p->v1 ? !lists(names, "memory") : strcmp(line, "0") || *names)
		return false;
	strcpy(p->path, path);
	return true;
}

/* \040 and the like stand for a blank in mountinfo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}

/* "34 30 0:31 ROOT POINT options [optional ...] - TYPE SOURCE SUPER" */
static bool find_mount(char *line, void *ctx)
{
	struct place *p = ctx;
	char *word[5] = { line }, *rest = strstr(line, " - "), *type, *super;
	size_t n;

	if (!rest)
		return false;
	type = rest + 3;
	super = strrchr(type, ' ');
	for (int i = 1; i < 5; i++) {
		if (!(word[i] = strchr(word[i - 1], ' ')) || word[i] >= rest)
			return false;
		word[i]++;
	}
	if (p->v1 ? strncmp(type, "cgroup ", 7) || !super || !lists(super + 1, "memory") :
		    strncmp(type, "cgroup2 ", 8) != 0)
		return false;
	word[4][-1] = '\0';
	word[4][strcspn(word[4], " ")] = '\0';
	unescape(word[3]);
	unescape(word[4]);
	n = strcmp(word[3], "/") ? strlen(word[3]) : 0;
	/* a mount of another part of the tree than the path: its root is the nearest group that is seen here */
	if (strncmp(p->path, word[3], n) || (p->path[n] && p->path[n] != '/') || strstr(p->path, "/.."))
		n = strlen(p->path);
	strcpy(p->mount, word[4]);
	strcpy(p->below, strcmp(p->path + n, "/") ? p->path + n : "");
	p->found = true;
	return true;
}

/* The folder of the own group, and how much of it is the mount point; false: there is none. */
static bool find_group(const char *root, bool v1, char *to, size_t size, size_t *mount)
{
	struct place p = { .v1 = v1 };
	char path[PATH_MAX + 32];
	int n;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (!each_line(path, find_path, &p))
		return false;
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	if (!each_line(path, find_mount, &p) || !p.found)
		return false;
	*mount = strlen(root) + strlen(p.mount);
	n = snprintf(to, size, "%s%s%s", root, p.mount, p.below);
	return n > 0 && (size_t)n < size;
}

/* --- limits ----------------------------------------------------------------------- */

static void offer(struct mw_limits *l, enum mw_limit_of of, uint64_t bytes, uint64_t used)
{
	if (bytes >= ENDLESS || (l->of && (bytes > l->bytes || (bytes == l->bytes && of >= l->of))))
		return;
	l->of = of;
	l->bytes = bytes;
	l->used = used;
}

static uint64_t known(uint64_t v)
{
	return v == MW_LIMIT_UNKNOWN ? 0 : v;
}

/* One group, own or above. */
static void offer_group(struct mw_limits *l, const char *folder, bool v1)
{
	uint64_t max = read_figure(folder, v1 ? "memory.limit_in_bytes" : "memory.max", "");
	uint64_t high = v1 ? MW_LIMIT_UNKNOWN : read_figure(folder, "memory.high", "");
	uint64_t used, files;

	if (max >= ENDLESS && high >= ENDLESS)
		return;
	used = read_figure(folder, v1 ? "memory.usage_in_bytes" : "memory.current", "");
	files = known(read_figure(folder, "memory.stat", v1 ? "total_active_file" : "active_file")) +
		known(read_figure(folder, "memory.stat", v1 ? "total_inactive_file" : "inactive_file"));
	if (used == MW_LIMIT_UNKNOWN)
		used = files = 0;
	else if (max < ENDLESS && (max - (used < max ? used : max)) < l->room)
		l->room = max - (used < max ? used : max);
	used -= files < used ? files : used;
	offer(l, v1 ? MW_LIMIT_V1 : MW_LIMIT_MAX, max, used);
	offer(l, MW_LIMIT_HIGH, high, used);
}

static void read_own(struct mw_limits *l, const char *folder, bool v1)
{
#define GROUP(name, type, unit, file2, key2, file1, key1, help)                 \
	{                                                                       \
		const char *file = v1 ? file1 : file2, *key = v1 ? key1 : key2; \
                                                                                \
		if (file)                                                       \
			l->group.name = read_figure(folder, file, key);         \
	}
#include "limits.def"
#undef GROUP
}

static void offer_groups(struct mw_limits *l, const char *root, bool v1)
{
	char folder[2 * PATH_MAX];
	size_t mount;

	if (!find_group(root, v1, folder, sizeof(folder), &mount))
		return;
	if (l->group.bytes == MW_LIMIT_UNKNOWN)
		read_own(l, folder, v1);
	for (;;) {
		offer_group(l, folder, v1);
		if (strlen(folder) <= mount)
			return;
		*strrchr(folder, '/') = '\0';
	}
}

static void offer_address_space(struct mw_limits *l, const char *root)
{
	struct rlimit as;
	char folder[PATH_MAX + 32];
	uint64_t pages;

	if (getrlimit(RLIMIT_AS, &as) || as.rlim_cur == RLIM_INFINITY)
		return;
	snprintf(folder, sizeof(folder), "%s/proc/self", root);
	pages = read_figure(folder, "statm", "");
	offer(l, MW_LIMIT_AS, as.rlim_cur, known(pages) * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void offer_machine(struct mw_limits *l, const char *root)
{
	char folder[PATH_MAX + 32];
	uint64_t all, available;

	snprintf(folder, sizeof(folder), "%s/proc", root);
	all = read_figure(folder, "meminfo", "MemTotal");
	available = read_figure(folder, "meminfo", "MemAvailable");
	if (all >= ENDLESS / 1024)
		return;
	available = available < all ? available : all;
	offer(l, MW_LIMIT_MACHINE, all * 1024, (all - available) * 1024);
}

void mw_limits_read_at(struct mw_limits *l, const char *root)
{
	*l = (struct mw_limits){ .room = MW_LIMIT_UNKNOWN };
#define GROUP(name, type, unit, file2, key2, file1, key1, help) l->group.name = MW_LIMIT_UNKNOWN;
#include "limits.def"
#undef GROUP
	offer_groups(l, root, false);
	offer_groups(l, root, true);
	offer_address_space(l, root);
	offer_machine(l, root);
}

void mw_limits_read(struct mw_limits *l)
{
	const char *root = MW_SWIFT > 1 ? getenv("MW_LIMITS_ROOT") : NULL;

	mw_limits_read_at(l, root ? root : "");
}

void mw_limits_json(struct mw_buf *b, const struct mw_limits *l)
{
	if (!l->of)
		return;
	mw_json_u64(b, "\nlimit_bytes", l->bytes);
	mw_json_str(b, "\nlimit_of", mw_limit_names[l->of]);
	mw_json_u64(b, "\nlimit_used_bytes", l->used);
#define GROUP(name, type, unit, file2, key2, file1, key1, help) \
	if (l->group.name != MW_LIMIT_UNKNOWN)                  \
		mw_json_u64(b, "\ngroup_" #name, l->group.name);
#include "limits.def"
#undef GROUP
}
