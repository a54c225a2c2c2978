/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the rows that unwind.c caches: few functions touch few pages, and more have more room. */
/* uses: src/shared/sys/libc_glibc.c src/tracker/caller/unwind.c src/tracker/caller/cfi.c src/tracker/caller/cfi_find.c src/tracker/table/closes.c src/tracker/table/caller_cache.c */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/tracker/caller/unwind.h"
#include "unwound.h"

static uintptr_t pcs[MOST]; /* in the same mapping as the cache */
static shape all[1024];
static size_t all_n;
static size_t page; /* in kB */

/* kB that the process has of its own zeroed variables. */
static size_t kb(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t start, end, here = 0;
	char line[512];
	size_t found = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)pcs >= start && (uintptr_t)pcs < end;
		else if (here)
			(void)sscanf(line, "Rss: %zu kB", &found);
	(void)fclose(f);
	return found;
}

static void look(struct walk *w)
{
	struct mw_unwind u = { 0 };

	(void)w;
	assert_true(mw_unwind(&u, pcs, MOST) > 1);
}

static uint64_t next(struct walk *w)
{
	w->look(w);
	return 1;
}

/* The stacks of these shapes: one or a few new return addresses each. */
static void walk(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		for (uint64_t seed = 0; seed < 8; seed++) {
			struct walk w = { next, look, seed * 0x9e3779b97f4a7c15u, 0, NULL };

			all[i](&w);
		}
}

static void load(void)
{
	void *handles[64];
	size_t n;

	page = (size_t)sysconf(_SC_PAGESIZE) / 1024;
	memset(pcs, 1, sizeof(pcs));
	n = unwound_open("c*_*", handles, 64);
	for (size_t i = 0; i < n; i++) {
		const struct shape_list *l = dlsym(handles[i], "shapes");

		for (size_t k = 0; l && k < l->n && all_n < sizeof(all) / sizeof(*all); k++)
			all[all_n++] = l->of[k];
	}
	assert_true(all_n >= 100);
}

/*
 * Addresses are chance, and with them which rows share a set: one process in a hundred has more sets.
 * So this is measured in some processes, each with addresses of its own.
 */
enum { PROCESSES = 9 };
static struct taken {
	size_t few, more; /* in kB */
} taken[PROCESSES];

/* In a process of its own: writes what the rows take to fd. */
static void measure(int fd)
{
	struct taken t;
	size_t before = kb();

	walk(0, 50);
	t.few = kb() - before;
	for (int i = 0; i < 20; i++)
		walk(0, all_n);
	t.more = kb() - before - t.few;
	_exit(write(fd, &t, sizeof(t)) != sizeof(t));
}

/* Starts the program anew. Its standard output is TAP, which belongs to the first one. */
static void start(struct taken *t)
{
	char fd[16];
	int ends[2], null = open("/dev/null", O_WRONLY), status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		sprintf(fd, "%d", ends[1]);
		dup2(null, 1);
		execl("/proc/self/exe", "measure", fd, NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], t, sizeof(*t)), sizeof(*t));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(ends[0]);
	(void)close(null);
}

static void load_and_measure(void)
{
	load();
	if (unit_arguments[0])
		measure(atoi(unit_arguments[0]));
	for (int i = 0; i < PROCESSES; i++)
		start(&taken[i]);
}

static int by_few(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	return (x->few > y->few) - (x->few < y->few);
}

static int by_more(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	return (x->more > y->more) - (x->more < y->more);
}

TEST(few_rows_take_few_pages)
{
	size_t few;

	qsort(taken, PROCESSES, sizeof(taken[0]), by_few);
	few = taken[PROCESSES / 2].few;
	print_message("# 50 functions: %zu kB\n", few);
	/* a large page has room for them beside what load() wrote */
	assert_in_range(few, page > 4 ? 0 : page, 5 * page);
}

TEST(many_have_more_room)
{
	size_t more;

	qsort(taken, PROCESSES, sizeof(taken[0]), by_more);
	more = taken[PROCESSES / 2].more;
	print_message("# %zu functions: %zu kB more\n", all_n, more);
	assert_in_range(more, page > 16 ? 0 : 2 * page, 20 * page); /* the whole cache has 64 kB */
}

ALL(load_and_measure, NULL);
