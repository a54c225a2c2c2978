/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts.c - one thread, known counts for each function of the family. */
#include <malloc.h>

#include "../lib/site.h"

#define N 100
static void *block[4 * N];

MALLOC_SITE(do_malloc);
SITE void *do_calloc(size_t a, size_t b)
{
	return keep(calloc(a, b));
}
REALLOC_SITE(do_realloc);
SITE void *do_reallocarray(void *p, size_t a, size_t b)
{
	return keep(reallocarray(p, a, b));
}
SITE void *do_memalign(size_t a, size_t n)
{
	return keep(memalign(a, n));
}
SITE void *do_aligned_alloc(size_t a, size_t n)
{
	return keep(aligned_alloc(a, n));
}
SITE void *do_valloc(size_t n)
{
	return keep(valloc(n));
}
SITE void *do_pvalloc(size_t n)
{
	return keep(pvalloc(n));
}
SITE void *do_posix_memalign(size_t a, size_t n)
{
	void *p = NULL;

	return posix_memalign(&p, a, n) ? NULL : keep(p);
}
MALLOC_SITE(from_malloc);
REALLOC_SITE(grow);
REALLOC_SITE(shrink);
REALLOC_SITE(again);
MALLOC_SITE(fails);
SITE void *two_lines(size_t n, bool second)
{
	if (second)
		return keep(malloc(n));
	return keep(malloc(n));
}

/* free() is nobody's line: the block's own line counts it. */
SITE void drop(void *p)
{
	free(p);
	STAY();
}

/* Sizes 1 to N; every second one is freed. */
static void plain(void)
{
	uint64_t total = 0, live = 0;
	size_t i;

	for (i = 0; i < N; i++) {
		block[i] = do_malloc(i + 1);
		total += i + 1;
	}
	for (i = 0; i < N; i += 2)
		drop(block[i]);
	for (i = 1; i < N; i += 2)
		live += i + 1;
	expect("do_malloc", N, N / 2, total, live);
}

static void zeroed(void)
{
	size_t i;

	for (i = 0; i < N; i++)
		block[i] = do_calloc(i + 1, 24);
	for (i = 0; i < N; i++)
		if (i != 7)
			drop(block[i]);
	expect("do_calloc", N, N - 1, 24 * N * (N + 1) / 2, 8 * 24);
}

static void aligned(void)
{
	size_t i, page = (size_t)sysconf(_SC_PAGESIZE);

	for (i = 0; i < N; i++) {
		drop(do_memalign((size_t)16 << i % 10, 100 + i));
		drop(do_aligned_alloc(64, 64 * (i + 1)));
		drop(do_posix_memalign(4096, i + 1));
		drop(do_valloc(i + 1));
	}
	block[0] = do_pvalloc(3 * page); /* whole pages: no rounding in question */
	block[1] = do_memalign(64, 1);
	block[2] = do_posix_memalign(8, 33);
	expect("do_memalign", N + 1, N, 100 * N + N * (N - 1) / 2 + 1, 1);
	expect("do_aligned_alloc", N, N, 64 * N * (N + 1) / 2, 0);
	expect("do_posix_memalign", N + 1, N, N * (N + 1) / 2 + 33, 33);
	expect("do_valloc", N, N, N * (N + 1) / 2, 0);
	expect("do_pvalloc", 1, 0, 3 * page, 3 * page);
}

/* An allocation where it happens, a free where the old block came from. */
static void moved(void)
{
	void *p;
	size_t i;

	for (i = 0; i < N; i++) {
		p = grow(from_malloc(10), 20000);
		p = shrink(p, 5);
		block[i] = p;
	}
	expect("from_malloc", N, N, 10 * N, 0);
	expect("grow", N, N, 20000 * N, 0);
	for (i = 0; i < N; i += 4)
		drop(block[i]);
	expect("shrink", N, N / 4, 5 * N, 5 * (N - N / 4));
	p = NULL;
	for (i = 1; i <= N; i++)
		p = again(p, i * 1000); /* the first is as malloc */
	p = again(p, hide(PTRDIFF_MAX)) ? NULL : p;
	expect("again", N, N - 1, 1000 * N * (N + 1) / 2, 1000 * N);
	/* free, with glibc; others answer with a block of 0 bytes */
	p = do_realloc(do_realloc(NULL, 77), 0);
	i = p ? 2 : 1;
	drop(p);
	expect("do_realloc", i, i, 77, 0);
	p = do_reallocarray(NULL, 5, 7);
	p = do_reallocarray(p, 50, 7);
	check(!do_reallocarray(p, hide(SIZE_MAX / 2), 7), "reallocarray overflows");
	expect("do_reallocarray", 2, 1, 35 + 350, 350);
}

static void failing(void)
{
	drop(fails(1));
	check(!fails(hide(SIZE_MAX)) && !fails(hide(PTRDIFF_MAX)), "absurd sizes fail");
	drop(NULL);
	expect("fails", 1, 1, 1, 0);
}

/* Two lines of one function are two rows; a third row would be wrong. */
static void lines(void)
{
	const struct mw_api *a = tracker();
	struct mw_snapshot *s;
	size_t i, n = 0;

	for (i = 0; i < N; i++)
		block[i] = two_lines(8, i % 5 == 0);
	expect("two_lines", N, 0, 8 * N, 8 * N);
	if (!a)
		return;
	s = a->snapshot();
	sum_at(s, "two_lines", &n);
	if (n != 2 && !strstr(getenv("MWRAP"), "counts:sampled"))
		say("NOT OK two lines have %zu rows\n", n);
	a->snapshot_free(s);
	say("# api 1\n");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 2;
	plain();
	zeroed();
	aligned();
	moved();
	failing();
	lines();
	return 0;
}
