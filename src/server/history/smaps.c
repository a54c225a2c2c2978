/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smaps.c - reads /proc/self/smaps a piece at a time, and tells what each mapping is for. See
 * parts.h. A mapping's purpose depends on its neighbours, so it is settled when the next one is seen.
 */
#include <string.h>
#include <unistd.h>

#include "parts.h"
#include "shared/sys/residency.h"
#include "shared/sys/sys.h"

#define WINDOW MW_PLACES_WINDOW
#define GUARD_MAX ((uint64_t)64 << 10)
#define STACK_MAX ((uint64_t)64 << 20) /* an app's mapping above a guard may be of any size */
/* A stack has at most so much behind its thread's pointer. One page more does no harm. */
#define THREAD_MAX ((uint64_t)4 << 10)

enum kind { NONE, FILES, HEAP, STACK, ARENA, ANON };

struct mapping {
	enum kind kind;
	bool no_access, writable;
	bool rest; /* the unused end of an arena, so no guard */
	bool small_pages; /* never of huge pages: since Linux 6.7 that of MAP_STACK is so */
	bool guards; /* pages in it are guards. Linux 6.18 says so */
	uint64_t from, to;
	uint64_t rss, anonymous; /* bytes */
};

struct reader {
	struct mw_smaps *out;
	const struct mw_places *places;
	size_t large; /* index of the next large block */
	struct mapping before, now;
	bool bad;
	char line[256]; /* the start of a line: enough for all that matters */
	size_t n;
};

/* --- what a mapping is for ------------------------------------------------------- */

static bool is_window(const struct reader *r, uint64_t w)
{
	size_t from = 0, to = r->places ? r->places->windows_n : 0;

	while (from < to) {
		size_t i = from + (to - from) / 2;

		if (r->places->windows[i] == w)
			return true;
		if (r->places->windows[i] < w)
			from = i + 1;
		else
			to = i;
	}
	return false;
}

/*
 * By its shape alone: the start of the arena that ends this mapping; 0: none does. An arena that is
 * in use to its end looks like any mapping of 64 MiB: only the blocks in it tell.
 */
static uint64_t shape(const struct mapping *m, const struct mapping *next)
{
	bool is = next->kind == ANON && next->no_access && next->from == m->to && next->to % WINDOW == 0 &&
		  next->to - next->from < WINDOW && next->to - WINDOW >= m->from;

	return is ? next->to - WINDOW : 0;
}

/* Bytes of m that are an arena's. The kernel may have joined one to other memory. */
static uint64_t in_arenas(const struct reader *r, const struct mapping *m, uint64_t base)
{
	uint64_t sum = base ? m->to - base : 0;

	for (size_t i = 0; r->places && i < r->places->windows_n; i++) {
		uint64_t w = r->places->windows[i];

		if (w >= m->from && w < m->to && w != base)
			sum += m->to - w < WINDOW ? m->to - w : WINDOW;
	}
	return sum;
}

/* The large blocks in m that aren't in an arena; returns their bytes. */
static uint64_t large_blocks(struct reader *r, const struct mapping *m, uint64_t base)
{
	uint64_t sum = 0;

	while (r->places && r->large < r->places->n && r->places->v[r->large].addr < m->to) {
		const struct mw_live *l = &r->places->v[r->large++];
		uint64_t w = l->addr & ~(WINDOW - 1);

		if (l->addr < m->from || m->kind != ANON ||
		    (w >= m->from && (w == base || is_window(r, w))))
			continue;
		sum += l->size;
		r->out->outside += l->size;
		r->out->outside_n++;
	}
	return sum;
}

/* Other allocators than glibc's may refuse huge pages, too: jemalloc does with thp:never. */
static bool is_for_stacks(const struct reader *r, const struct mapping *m)
{
	return m->small_pages && (m->guards || (r->places && r->places->arenas));
}

static void add_run(void *sum, uintptr_t start, uintptr_t end, unsigned flags)
{
	if (flags & MW_PAGE_PRESENT)
		*(uint64_t *)sum += end - start;
}

/*
 * The resident bytes of m that lie above the lowest stack in it: before Linux 6.7 the kernel joins what an app
 * has mapped there to that stack. A thread's pointer tells where a stack ends, but for these few pages.
 */
static uint64_t above_stack(const struct reader *r, const struct mapping *m)
{
	struct mw_residency pages;
	uint64_t from = m->to, page = mw_page_size(), sum = 0;

	for (size_t i = r->places ? r->places->threads_n : 0; i--;)
		if (r->places->threads[i] >= m->from && r->places->threads[i] < m->to)
			from = r->places->threads[i];
	from = (from + THREAD_MAX + page - 1) & -page;
	if (from >= m->to)
		return 0;
	/* without a descriptor: a child that is forked meanwhile would keep it */
	mw_residency_open(&pages, MW_RESIDENCY_MINCORE);
	(void)mw_residency_each(&pages, from, m->to, true, add_run, &sum);
	mw_residency_close(&pages);
	return sum < m->rss ? sum : m->rss;
}

static bool lies_above_guard(const struct mapping *m, const struct mapping *guard)
{
	return guard->kind == ANON && guard->no_access && !guard->rest && guard->to == m->from &&
	       guard->to - guard->from <= GUARD_MAX && m->to - m->from <= STACK_MAX;
}

static void settle_anon(struct reader *r, const struct mapping *m, const struct mapping *next)
{
	uint64_t base = shape(m, next), arenas = in_arenas(r, m, base), blocks = large_blocks(r, m, base);
	uint64_t rest = m->rss, size = m->to - m->from;

	if (arenas) {
		uint64_t part =
			arenas < size ? (uint64_t)((double)m->rss * ((double)arenas / (double)size)) :
					m->rss;

		r->out->arenas += part;
		rest -= part;
	} else if (m->writable && !blocks && is_for_stacks(r, m)) {
		r->out->stacks += rest;
		rest = 0;
	} else if (m->writable && !blocks && lies_above_guard(m, &r->before)) {
		rest = above_stack(r, m);
		r->out->stacks += m->rss - rest;
	}
	r->out->anon += rest;
	r->out->large += blocks < rest ? blocks : rest;
}

/* next: kind NONE if m is the last one */
static void settle(struct reader *r, struct mapping *next)
{
	struct mapping *m = &r->now;

	if (m->kind != ANON)
		(void)large_blocks(r, m, 0);
	switch (m->kind) {
	case NONE:
		return;
	case FILES:
		r->out->files += m->rss - (m->anonymous < m->rss ? m->anonymous : m->rss);
		r->out->anon += m->anonymous < m->rss ? m->anonymous : m->rss;
		break;
	case HEAP:
	case ARENA:
		r->out->arenas += m->rss;
		break;
	case STACK:
		r->out->stacks += m->rss;
		break;
	case ANON:
		next->rest = shape(m, next) != 0;
		settle_anon(r, m, next);
		break;
	}
	r->before = *m;
}

/* --- the text ---------------------------------------------------------------------- */

/* Takes the hexadecimal number at *s, and the character `end`. */
static bool hex(const char **s, uint64_t *v, char end)
{
	const char *from = *s;

	for (*v = 0;; ++*s) {
		char c = **s;
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
							16;

		if (digit == 16)
			break;
		*v = *v << 4 | digit;
	}
	return *s != from && *(*s)++ == end;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static enum kind kind_of_mapping(const char *name)
{
	if (!*name)
		return ANON;
	if (*name != '[' || starts(name, "[anon_shmem:"))
		return FILES;
	if (starts(name, "[heap]"))
		return HEAP;
	if (starts(name, "[stack"))
		return STACK;
	if (starts(name, "[anon: glibc: malloc")) /* with glibc.mem.decorate_maps */
		return ARENA;
	return starts(name, "[anon:") ? ANON : FILES; /* [vdso] and the like */
}

/* FROM-TO rwxp OFFSET DEV INODE   NAME */
static void take_head(struct reader *r)
{
	struct mapping next = { 0 };
	const char *s = r->line;

	if (!hex(&s, &next.from, '-') || !hex(&s, &next.to, ' ') || next.from >= next.to || strlen(s) < 5) {
		r->bad = true;
		return;
	}
	next.no_access = starts(s, "---");
	next.writable = s[1] == 'w';
	for (int i = 0; i < 4; i++) { /* permissions, offset, device, inode */
		s += strcspn(s, " ");
		s += strspn(s, " ");
	}
	next.kind = kind_of_mapping(s);
	settle(r, &next);
	r->now = next;
}

/* "Rss:    123 kB", in bytes */
static uint64_t figure(const char *s)
{
	uint64_t v = 0;

	for (s += strspn(s, " "); *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return v << 10;
}

static void take_line(struct reader *r)
{
	const char *s = r->line;

	r->line[r->n < sizeof(r->line) ? r->n : sizeof(r->line) - 1] = '\0';
	if ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f'))
		take_head(r);
	else if (starts(s, "Rss:"))
		r->now.rss = figure(s + 4);
	else if (starts(s, "Anonymous:"))
		r->now.anonymous = figure(s + 10);
	else if (starts(s, "VmFlags:")) {
		r->now.small_pages = strstr(s, " nh") != NULL;
		r->now.guards = strstr(s, " gu") != NULL;
	}
	r->n = 0;
}

bool mw_smaps_read(struct mw_smaps *out, long (*read_more)(void *ctx, char *to, size_t n), void *ctx,
		   const struct mw_places *places)
{
	struct reader r = { .out = out, .places = places };
	struct mapping end = { 0 };
	char text[4096]; /* the kernel makes no more at once */
	long n;

	*out = (struct mw_smaps){ 0 };
	while ((n = read_more(ctx, text, sizeof(text))) > 0) {
		for (long i = 0; i < n; i++) {
			if (text[i] == '\n')
				take_line(&r);
			else if (r.n < sizeof(r.line) - 1)
				r.line[r.n++] = text[i];
		}
	}
	settle(&r, &end);
	return !n && !r.bad && r.before.kind != NONE;
}

struct file {
	int fd;
	off_t at;
};

static long read_smaps_file(void *ctx, char *to, size_t n)
{
	struct file *f = ctx;
	ssize_t got = pread(f->fd, to, n, f->at);

	if (got > 0)
		f->at += got;
	return got;
}

bool mw_smaps_read_fd(struct mw_smaps *out, int smaps, const struct mw_places *places)
{
	struct file f = { .fd = smaps };

	return mw_smaps_read(out, read_smaps_file, &f, places);
}
