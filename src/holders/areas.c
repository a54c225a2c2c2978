/* SPDX-License-Identifier: GPL-2.0-or-later */
/* areas.c - see areas.h. */
#include "areas.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

enum {
	RED_ZONE = 128,       /* bytes below the stack pointer that a function may use */
	TLS = 1 << 16,        /* before and behind the C library's struct of a thread */
	DEEPER = 1 << 12,
	LOOKS = 3             /* at a thread that runs */
};

static void add(struct mw_areas *a, uintptr_t start, uintptr_t end, uintptr_t within, bool stack,
		const char *name)
{
	struct mw_area *v;

	if (a->n == MW_AREAS)
		return;
	v = &a->v[a->n++];
	v->start = start & ~(sizeof(uintptr_t) - 1);
	v->end = end;
	v->within = within;
	v->stack = stack;
	snprintf(v->name, sizeof(v->name), "%s", name);
}

static void add_stack(struct mw_areas *a, uintptr_t from, uintptr_t sp)
{
	add(a, from, UINTPTR_MAX, sp, true, "(thread stack)");
}

/* --- libraries ---------------------------------------------------------------- */

static bool is_ours(const char *base)
{
	return !strncmp(base, "libmwrap", 8) || !strncmp(base, "mwrap_ext.", 10);
}

static int add_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (is_ours(base))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && p->p_memsz)
			add(ctx, at, at + p->p_memsz, 0, false, *base ? base : "(the program)");
	}
	return 0;
}

/* --- threads ------------------------------------------------------------------ */

/* The last but one number of what the kernel says of a thread that doesn't run: its stack pointer. */
static uintptr_t stack_pointer(pid_t task)
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

/* A record of the kernel's getdents64. */
struct entry {
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void each_task(void (*f)(pid_t, void *), void *ctx)
{
	_Alignas(8) char buf[4096];
	int fd = mw_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return;
	while ((n = mw_sys(SYS_getdents64, fd, mw_sys_ptr(buf), sizeof(buf), 0, 0)) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(const void *)(buf + at);

			if (e->name[0] >= '0' && e->name[0] <= '9')
				f((pid_t)atoi(e->name), ctx);
			at += e->len;
		}
	mw_sys_close(fd);
}

static void add_task(pid_t task, void *ctx)
{
	struct mw_areas *a = ctx;
	uintptr_t sp = 0;
	bool ran = false;

	if (task == (pid_t)mw_sys(SYS_gettid, 0, 0, 0, 0, 0)) {
		sp = (uintptr_t)__builtin_frame_address(0);
		add_stack(a, sp, sp);
		return;
	}
	for (int i = 0; i < LOOKS && !(sp = stack_pointer(task)); i++) {
		ran = true;
		mw_sys(SYS_sched_yield, 0, 0, 0, 0, 0);
	}
	if (!sp)
		a->unread++;
	else /* one that ran may have gone deeper at the fork */
		add_stack(a, ran ? sp - DEEPER : sp - RED_ZONE, sp);
}

void mw_areas_find(struct mw_areas *a, uintptr_t main_thread)
{
	a->n = a->unread = 0;
	each_task(add_task, a);
	if (main_thread)
		add(a, main_thread - TLS, main_thread + TLS, main_thread, false, "(thread-local variable)");
	dl_iterate_phdr(add_library, a);
}

/* --- mappings ------------------------------------------------------------------ */

/* One line of /proc/self/maps; false: not readable. */
static bool read_line(const char *line, struct mw_mapping *m)
{
	char *end;

	m->start = (uintptr_t)strtoull(line, &end, 16);
	if (*end != '-')
		return false;
	m->end = (uintptr_t)strtoull(end + 1, &end, 16);
	return end[0] == ' ' && end[1] == 'r' && !strstr(end, "[v"); /* [vvar] may fault */
}

size_t mw_mappings_read(struct mw_mapping *to, size_t room)
{
	int fd = mw_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	char buf[8192];
	size_t have = 0, n = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while ((got = mw_sys_read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)got;
		buf[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			if (n < room && read_line(line, &to[n]))
				n++;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			have = 0; /* a name longer than any path */
	}
	mw_sys_close(fd);
	return n;
}

const struct mw_mapping *mw_mapping_of(const struct mw_mapping *m, size_t n, uintptr_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && m[low].start <= at ? &m[low] : NULL;
}

void mw_areas_bound(struct mw_areas *a, const struct mw_mapping *m, size_t n)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct mw_area *v = &a->v[i];
		const struct mw_mapping *in;

		if (!v->within)
			continue;
		in = mw_mapping_of(m, n, v->within);
		if (!in) {
			v->end = v->start;
			continue;
		}
		if (v->end > in->end)
			v->end = in->end;
		if (v->start < in->start)
			v->start = in->start;
	}
}
