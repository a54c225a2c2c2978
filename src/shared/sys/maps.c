/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"

/* FROM-TO rwxp OFFSET DEV INODE   NAME */
static bool parse(const char *line, struct mw_maps_line *m)
{
	char *end;

	m->start = (uintptr_t)strtoull(line, &end, 16);
	if (*end != '-')
		return false;
	m->end = (uintptr_t)strtoull(end + 1, &end, 16);
	if (*end != ' ' || strlen(end) < 6)
		return false;
	m->read = end[1] == 'r';
	m->write = end[2] == 'w';
	m->shared = end[4] == 's';
	for (int field = 0; field < 4; field++) { /* permissions to inode */
		end += strspn(end, " ");
		end += strcspn(end, " ");
	}
	m->name = end + strspn(end, " ");
	m->special = !strncmp(m->name, "[v", 2);
	return m->start < m->end;
}

/* Calls f with each line of a file, without its end; a long one is cut there. False: it can't be read, or is empty. */
static bool each_line(const char *path, void (*f)(const char *line, void *ctx), void *ctx)
{
	int fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	char buf[8192];
	size_t have = 0;
	bool any = false, cut = false; /* cut: what comes next is the rest of a name */
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = mw_sys_read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *end;

		any = true;
		have += (size_t)got;
		buf[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			if (!cut)
				f(line, ctx);
			cut = false;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1) { /* a name longer than any path */
			buf[have] = 0;
			if (!cut)
				f(buf, ctx);
			cut = true;
			have = 0;
		}
	}
	mw_sys_close(fd);
	return any;
}

struct maps {
	void (*f)(const struct mw_maps_line *, void *ctx);
	void *ctx;
	bool any;
};

static void take_line(const char *line, void *ctx)
{
	struct maps *c = ctx;
	struct mw_maps_line m;

	if (!parse(line, &m))
		return;
	c->any = true;
	c->f(&m, c->ctx);
}

bool mw_maps_each(void (*f)(const struct mw_maps_line *, void *ctx), void *ctx)
{
	struct maps c = { .f = f, .ctx = ctx };

	return each_line("/proc/self/maps", take_line, &c) && c.any;
}

struct smaps {
	void (*f)(const struct mw_maps_line *, uint64_t kept, void *ctx);
	void *ctx;
	struct mw_maps_line now; /* its start is 0: none yet */
	uint64_t kept;
};

static void take_smaps_line(const char *line, void *ctx)
{
	struct smaps *c = ctx;
	struct mw_maps_line m;

	if (!strncmp(line, "Rss:", 4) || !strncmp(line, "Swap:", 5) || strstr(line, "_Hugetlb:")) {
		c->kept += strtoull(strchr(line, ':') + 1, NULL, 10) << 10;
		return;
	}
	if (!parse(line, &m))
		return;
	if (c->now.start)
		c->f(&c->now, c->kept, c->ctx);
	c->now = m;
	c->now.name = "";
	c->kept = 0;
}

bool mw_smaps_each(void (*f)(const struct mw_maps_line *, uint64_t kept, void *ctx), void *ctx)
{
	struct smaps c = { .f = f, .ctx = ctx };

	if (!each_line("/proc/self/smaps", take_smaps_line, &c) || !c.now.start)
		return false;
	c.f(&c.now, c.kept, ctx);
	return true;
}

/* A record of the kernel's getdents64. */
struct entry {
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

bool mw_numbers_each(const char *folder, void (*f)(int number, void *ctx), void *ctx)
{
	_Alignas(8) char buf[4096];
	int fd = mw_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return false;
	while ((n = mw_sys(SYS_getdents64, fd, mw_sys_ptr(buf), sizeof(buf), 0, 0)) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(const void *)(buf + at);

			if (e->name[0] >= '0' && e->name[0] <= '9')
				f(atoi(e->name), ctx);
			at += e->len;
		}
	mw_sys_close(fd);
	return n == 0;
}

void mw_tasks_each(void (*f)(pid_t, void *ctx), void *ctx)
{
	(void)mw_numbers_each("/proc/self/task", f, ctx); /* a pid_t is an int */
}

/* The last but one number of /proc/self/task/N/syscall. */
uintptr_t mw_task_stack_pointer(pid_t task)
{
	char path[64], text[256], *last, *before;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)task);
	fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = mw_sys_read(fd, text, sizeof(text) - 1);
	mw_sys_close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	last = strrchr(text, ' ');
	if (!last)
		return 0; /* it runs */
	*last = 0;
	before = strrchr(text, ' ');
	return before ? (uintptr_t)strtoull(before, NULL, 16) : 0;
}
