/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is spread over far more address space than there is memory: each way to ask the kernel, on any
 * kernel, finds all of it and takes neither memory nor page tables for what is only reserved.
 *
 * The layouts come of a seed, which is printed: SEED=N makes the same.
 */
/* uses: @server */
/* first: parameters there have names that variables have here */
#include "unit.h"
#include "../../src/memory/pages.h"

#include "made_up_blocks.h"

/* residency.c itself, but for the way to open it and the runs that a test makes up */
#define mw_residency_open really_open
#define mw_residency_each really_each
#include "../../src/shared/sys/residency.c"
#undef mw_residency_open
#undef mw_residency_each

#include "../../src/shared/sys/maps.h"

static const char *const ways[] = { "mincore", "pagemap", "PAGEMAP_SCAN" };
static enum mw_residency_how most; /* the best way that is allowed */
static enum mw_residency_how how_asked; /* the way of the last search */
static uint64_t budget; /* pages that a search looks at */
static bool hurried; /* a search has no time: else it has as long as it takes, however slow the machine is */

/* Runs of pages that are said to be in memory, in an area that is only reserved. */
static struct {
	uintptr_t start, end;
	size_t run, gap; /* bytes; run 0: none are made up */
} made_up;

void mw_residency_open(struct mw_residency *r, enum mw_residency_how best)
{
	really_open(r, best < most ? best : most);
	how_asked = r->how;
	r->budget = budget;
}

uintptr_t mw_residency_each(struct mw_residency *r, uintptr_t start, uintptr_t stop, bool anonymous,
			    void (*f)(void *ctx, uintptr_t start, uintptr_t end, unsigned flags), void *ctx)
{
	r->until = hurried;
	if (!made_up.run || start < made_up.start || stop > made_up.end)
		return really_each(r, start, stop, anonymous, f, ctx);
	for (uintptr_t p = start; p < stop; p += made_up.run + made_up.gap)
		f(ctx, p, p + made_up.run < stop ? p + made_up.run : stop, MW_PAGE_PRESENT);
	return stop;
}

static void start(void)
{
	most = MW_RESIDENCY_SCAN;
	made_up.run = 0;
	budget = MW_RESIDENCY_BUDGET;
	hurried = false;
	begin();
}

static uint64_t seed; /* xorshift */

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* KB of a line of /proc/self/status */
static long status(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char text[256];
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(text, sizeof(text), f))
		if (!strncmp(text, name, strlen(name)))
			kb = atol(text + strlen(name));
	fclose(f);
	return kb;
}

/* From here on VmHWM is the most that is in memory at once. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	assert_non_null(f);
	fputs("5", f);
	fclose(f);
}

static char *reserve(size_t bytes, int access)
{
	char *p;

	bytes += 2 * page;
	p = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	/* the kernel joins it with no neighbour */
	mprotect(p, page, PROT_NONE);
	mprotect(p + bytes - page, page, PROT_NONE);
	return p + page;
}

/* --- layouts ------------------------------------------------------------------------------ */

#define SPAN ((size_t)4 << 30)

static char *layout;
static uint8_t *model, *told; /* a bit for each page of it */

static void mark(uint8_t *bits, size_t from, size_t n, bool on)
{
	for (size_t i = from; i < from + n; i++)
		bits[i / 8] = (uint8_t)(on ? bits[i / 8] | 1 << i % 8 : bits[i / 8] & ~(1 << i % 8));
}

/* Runs of all lengths are written to, given back, unmapped, and made unreadable. */
static void lay_out(size_t steps)
{
	const size_t pages = SPAN / page;

	for (size_t i = 0; i < steps; i++) {
		size_t n = 1 + any(UINT64_C(1) << any(9)), from = any(pages - n);
		char *p = layout + from * page;

		switch (any(8)) {
		case 0:
			madvise(p, n * page, MADV_DONTNEED);
			mark(model, from, n, false);
			break;
		case 1:
			munmap(p, n * page);
			mark(model, from, n, false);
			break;
		case 2:
			mprotect(p, n * page, PROT_NONE); /* what is in memory stays */
			break;
		default: /* what has no access gets new pages */
			assert_ptr_not_equal(mmap(p, n * page, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
						  -1, 0),
					     MAP_FAILED);
			madvise(p, n * page, MADV_NOHUGEPAGE);
			for (size_t k = 0; k < n; k++)
				p[k * page] = 1;
			mark(model, from, n, true);
		}
	}
}

static void tell(void *ctx, uintptr_t from, uintptr_t to, unsigned flags)
{
	(void)ctx;
	assert_true(flags & (MW_PAGE_PRESENT | MW_PAGE_SWAPPED));
	mark(told, (from - (uintptr_t)layout) / page, (to - from) / page, true);
}

static void tell_mapping(const struct mw_maps_line *l, void *ctx)
{
	uintptr_t from = (uintptr_t)layout, to = from + SPAN;

	if (l->start >= to || l->end <= from)
		return;
	from = l->start > from ? l->start : from;
	to = l->end < to ? l->end : to;
	assert_true(mw_residency_each(ctx, from, to, true, tell, NULL) == to);
}

static void as_the_model(enum mw_residency_how how)
{
	struct mw_residency r;

	really_open(&r, how);
	if (r.how != how)
		print_message("# this kernel has no %s\n", ways[how]);
	memset(told, 0, SPAN / page / 8);
	assert_true(mw_maps_each(tell_mapping, &r));
	mw_residency_close(&r);
	for (size_t i = 0; i < SPAN / page; i++)
		if ((told[i / 8] ^ model[i / 8]) >> i % 8 & 1)
			fail_msg("%s: page %zu is %sin memory, seed %llu", ways[how], i,
				 model[i / 8] >> i % 8 & 1 ? "" : "not ", (unsigned long long)seed);
}

EACH(start, end);

TEST(any_layout)
{
	model = calloc(1, SPAN / page / 8);
	told = calloc(1, SPAN / page / 8);
	for (int i = 0; i < 3; i++) {
		layout = reserve(SPAN, PROT_READ | PROT_WRITE);
		memset(model, 0, SPAN / page / 8);
		lay_out(i ? 1500 : 20);
		for (enum mw_residency_how how = MW_RESIDENCY_MINCORE; how <= MW_RESIDENCY_SCAN; how++)
			as_the_model(how);
		munmap(layout, SPAN);
	}
	free(model);
	free(told);
}

/* --- terabytes ---------------------------------------------------------------------------- */

#define TERABYTES(n) ((size_t)(n) << 40)
enum { GROWTH = 4 << 10, TABLES = 256 }; /* KB that a small map may take, and page tables */

/* A map, and that it takes little. */
static struct mw_map *small_map(void)
{
	long before, tables = status("VmPTE:");
	struct mw_map *m;

	mw_map_free(map()); /* what is made once is there */
	forget_peak();
	before = status("VmRSS:");
	m = map();
	assert_in_range(status("VmHWM:"), 0, (unsigned long)(before + GROWTH));
	assert_in_range(status("VmPTE:"), 0, (unsigned long)(tables + TABLES));
	return m;
}

/* 20 TiB without access and 20 TiB with, of which a few pages are in memory at most. */
TEST(reservations)
{
	char *none = reserve(TERABYTES(20), PROT_NONE),
	     *p = reserve(TERABYTES(20), PROT_READ | PROT_WRITE);
	uintptr_t first = ((uintptr_t)p + ((size_t)64 << 20) - 1) & -((uintptr_t)64 << 20);
	struct mw_map *m;

	budget = 1 << 22; /* less time where each page is asked for */
	block(at(0), 100, 1);
	for (int pages = 0; pages < 6; pages += 5) {
		for (int i = 0; i < pages; i++)
			*(volatile char *)(first + (uintptr_t)i * page) = 1;
		for (int glibc = 0; glibc < 2; glibc++)
			for (most = MW_RESIDENCY_MINCORE; most <= MW_RESIDENCY_SCAN; most++) {
				allocator_name = glibc ? "glibc" : "jemalloc";
				m = small_map();
				assert_int_equal(m->left_out, 0);
				assert_true(state_of(m, at(0)) >= MW_MAP_IS_USED);
				if (pages)
					assert_int_equal(state_of(m, first + 4 * page), MW_MAP_IS_OTHER);
#ifndef __SANITIZE_ADDRESS__
				/* mincore says nothing of zeros, so it can't know that it found all */
				if (most == MW_RESIDENCY_MINCORE && pages)
					assert_in_range(m->unsearched, TERABYTES(1), TERABYTES(20));
				else
					assert_int_equal(m->unsearched, 0);
#endif
				mw_map_free(m);
			}
	}
	munmap(none, TERABYTES(20));
	munmap(p, TERABYTES(20));
}

/* A block may be as large, such as a sparse array's. */
TEST(a_block_of_terabytes)
{
	static const uint32_t ids[] = { 1, 9 };
	char *p = reserve(TERABYTES(16), PROT_READ | PROT_WRITE);
	struct mw_map_whatif w;
	struct mw_map *m;
	uint8_t *lit;
	uint64_t sum = 0;

	budget = 1 << 22;
	p[TERABYTES(8)] = p[TERABYTES(3)] = 1;
	block((uintptr_t)p, TERABYTES(16), 1);
	block((uintptr_t)p + TERABYTES(16), 1000, 2); /* behind its end: the mapping isn't longer */
	m = small_map();
	if (how_asked != MW_RESIDENCY_SCAN) { /* before Linux 6.7 each page is asked for */
		assert_in_range(m->unsearched, TERABYTES(7), TERABYTES(16));
		mw_map_free(m);
		munmap(p, TERABYTES(16));
		return;
	}
	assert_int_equal(m->unsearched, 0);
	assert_int_equal(state_of(m, (uintptr_t)p + TERABYTES(8)), MW_MAP_IS_USED + MW_MAP_IS_FILL);
	assert_int_equal(m->live_bytes, TERABYTES(16) + 1000);
	assert_in_range(m->outside, 0, 1000); /* another mapping may be there */
	assert_int_equal(m->lines[0].holds, 2 * page);
	lit = calloc(1, m->n_cells / 8 + 1);
	assert_true(mw_map_light(m, &api, ids, 2, lit));
	for (uint32_t i = 0; i < m->n_cells; i++)
		sum += lit[i / 8] >> i % 8 & 1;
	assert_int_equal(sum, 2 * MW_MAP_ROW); /* two rows are drawn of it */
	assert_true(mw_map_whatif(&api, ids, 2, &w));
	assert_int_equal(w.empty_then - w.empty_now, 2 * page);
	free(lit);
	mw_map_free(m);
	munmap(p, TERABYTES(16));
}

/* --- one page here, one there ------------------------------------------------------------- */

/* Pages of [start, start + bytes) that the map has, of whatever kind. */
static uint64_t drawn(const struct mw_map *m, uintptr_t start, size_t bytes)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < m->n_spans; i++)
		for (uint32_t k = 0; k < m->spans[i].pages; k++)
			pages += m->spans[i].start - start < bytes &&
				 m->fill[m->spans[i].cell + k] != MW_MAP_IS_ABSENT;
	return pages;
}

/* A page in each 64 MiB, as in each of so many heaps that are nearly empty. */
TEST(a_page_in_each_window)
{
	enum { N = 3000 };
	const size_t window = (size_t)64 << 20;
	char *p = reserve(N * window, PROT_READ | PROT_WRITE);
	struct mw_map *m;

	for (size_t i = 0; i < N; i++) {
		p[i * window + any(window)] = 1;
		if (i % 3 == 0)
			block((uintptr_t)p + i * window, window / 2, 1 + (uint32_t)i % 2);
	}
	forget_peak();
	for (most = MW_RESIDENCY_MINCORE; most <= MW_RESIDENCY_SCAN; most++) {
		long before = status("VmRSS:");

		m = map();
		assert_in_range(status("VmHWM:"), 0, (unsigned long)(before + (16 << 10)));
		assert_int_equal(m->left_out, 0);
		assert_int_equal(drawn(m, (uintptr_t)p, N * window), N);
		mw_map_free(m);
	}
	/* without time it says how much of the address space it didn't look at: no less than is missing */
	hurried = true;
	for (most = MW_RESIDENCY_MINCORE; most <= MW_RESIDENCY_SCAN; most++) {
		m = map();
		assert_in_range(m->unsearched, (N - drawn(m, (uintptr_t)p, N * window)) * page, UINT64_MAX);
		assert_true(m->unsearched || how_asked == MW_RESIDENCY_SCAN);
		mw_map_free(m);
	}
	munmap(p, N * window);
}

/* Rows that are far apart, with a block at the beginning of each. */
TEST(rows_far_apart)
{
	static const size_t used[] = { 0, 1, 11, 1 << 10, (1 << 10) + 300 }; /* windows */
	const size_t window = (size_t)64 << 20, bytes = window << 11;
	char *map_at = reserve(bytes, PROT_READ | PROT_WRITE);
	char *p = map_at + (-(uintptr_t)map_at & (window - 1));
	uint32_t rows = 0;
	struct mw_map *m;

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		block((uintptr_t)(p + used[i] * window), 8, 1);
	for (size_t i = 0; i < n_blocks; i++)
		*(char *)blocks[i].addr = 1;
	m = map();
	for (uint32_t i = 0; i < m->n_spans; i++)
		if (m->spans[i].start - (uintptr_t)map_at < bytes)
			rows += m->spans[i].pages / MW_MAP_ROW;
	for (size_t i = 0; i < n_blocks; i++)
		assert_int_equal(state_of(m, blocks[i].addr), MW_MAP_IS_USED);
	assert_int_equal(rows, n_blocks);
	assert_int_equal(m->unsearched, 0);
	mw_map_free(m);
	munmap(map_at, bytes);
}

/* As many mappings as the kernel allows for, but 500: every other page has no access. */
TEST(many_mappings)
{
	size_t n = 65000;
	char *p = reserve(2 * n * page, PROT_NONE);
	struct mw_map *m;

	for (size_t i = 0; i < n / 2; i++) {
		char *q = p + 2 * i * page;

		if (mprotect(q, page, PROT_READ | PROT_WRITE)) {
			print_message("# %zu mappings\n", 2 * i);
			n = 2 * i;
			break;
		}
		*q = 1;
	}
	assert_true(n > 1000);
	block((uintptr_t)p, 10, 1);
	block((uintptr_t)p + (n - 2) * page, 10, 2);
	for (most = MW_RESIDENCY_MINCORE; most <= MW_RESIDENCY_SCAN; most++) {
		long before = status("VmRSS:");

		forget_peak();
		m = map();
		assert_in_range(status("VmHWM:"), 0, (unsigned long)(before + (64 << 10)));
#ifdef __SANITIZE_ADDRESS__ /* its shadow is terabytes, too: the other ways don't get through it */
		if (how_asked == MW_RESIDENCY_SCAN)
#endif
			assert_int_equal(m->unsearched, 0);
		assert_int_equal(state_of(m, (uintptr_t)p), MW_MAP_IS_USED);
		assert_int_equal(state_of(m, (uintptr_t)p + (n - 2) * page), MW_MAP_IS_USED);
		assert_true(m->parts[MW_MAP_OTHER] + m->parts[MW_MAP_STACKS] + m->parts[MW_MAP_EMPTY] >=
			    (n / 2 - 2) * page);
		mw_map_free(m);
	}
	munmap(p, 2 * n * page);
}

/* --- more than a map has room for --------------------------------------------------------- */

#define ROOM ((size_t)MW_MAP_LEAVES << MW_MAP_LEAF) /* pages */

/* Pages of the leaves that the process itself takes. A kernel may make pages all over a shadow that is only read. */
#ifdef __SANITIZE_ADDRESS__
#define OWN (ROOM / 4)
#else
#define OWN ((size_t)10000)
#endif

static struct mw_map *made_up_map(size_t run, size_t gap)
{
	long before = status("VmRSS:"), took;
	struct mw_map *m;

	made_up.run = run;
	made_up.gap = gap;
	forget_peak();
	m = map();
	took = status("VmHWM:") - before;
	print_message("# %ld KB, %llu ms of CPU time\n", took, (unsigned long long)(m->ns / 1000000));
	assert_in_range(took, 0, 64000000 / 1024);
	made_up.run = 0;
	return m;
}

/* A process with 40 GB in one piece, and one with pages all over 10 TiB; with larger pages, more. */
TEST(more_than_there_is_room_for)
{
	const size_t row = MW_MAP_ROW * page, piece = ((size_t)10 << 20) * page, all = piece << 8;
	char *p = reserve(all, PROT_READ | PROT_WRITE);
	struct mw_map *m;

	block((uintptr_t)p, 10, 1);
	made_up.start = (uintptr_t)p;
	made_up.end = (uintptr_t)p + all;
	m = made_up_map(piece, all);
	/* with what the process itself has */
	assert_in_range(m->left_out + mw_map_seen(m), piece, piece + piece / 20);
	assert_in_range(mw_map_seen(m), (ROOM - OWN) * page, (ROOM + 100000) * page);
	assert_int_equal(m->undrawn, 0);
	mw_map_free(m);
	/* each of its pages has a leaf and a row of its own */
	m = made_up_map(page, 2 * row);
	assert_in_range(m->left_out, (all / (2 * row + page) - MW_MAP_LEAVES) * page,
			all / (2 * row) * page);
	assert_true(m->undrawn);
	assert_in_range(m->n_cells, MW_MAP_CELLS_MAX - 4 * MW_MAP_ROW, MW_MAP_CELLS_MAX);
	mw_map_free(m);
	munmap(p, all);
}

/* --- addresses ----------------------------------------------------------------------------- */

static void found_again(struct mw_map_pages *p, const uintptr_t *v, size_t n)
{
	uintptr_t from = 0;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(mw_map_entry(p, v[i])->line, i + 1);
		assert_int_equal(mw_map_pages_next(p, &from, UINTPTR_MAX)->line, i + 1);
		assert_true(from == v[i]);
		from += page;
	}
	assert_null(mw_map_pages_next(p, &from, UINTPTR_MAX));
}

/* Of 47, 48, 52, 57 and 64 bits: each is as good as another one. */
TEST(any_address)
{
	static const unsigned bits[] = { 12, 21, 32, 46, 47, 48, 52, 56, 57, 63 };
	enum { N = sizeof(bits) / sizeof(*bits) };
	struct mw_map_pages p;
	uintptr_t v[N];

	assert_true(mw_map_pages_make(&p));
	for (size_t i = 0; i < N; i++) {
		uintptr_t least = i ? (uintptr_t)1 << bits[i] : page;

		v[i] = least + (i % 2 ? 0 : any(least / page) * page);
	}
	for (size_t i = N; i--;) {
		struct mw_map_entry *e = mw_map_pages_add(&p, v[i]);

		e->line = (uint32_t)i + 1;
		e->flags = MW_ENTRY_KNOWN;
	}
	mw_map_pages_sort(&p);
	found_again(&p, v, N);
	mw_map_pages_free(&p);
}

/* --- larger pages --------------------------------------------------------------------------- */

/* Kernels have pages of 4, 16 and 64 KiB: what is in one is right to the byte, also if one block fills it. */
TEST(pages_of_each_size)
{
	static const uint8_t second[] = { 1 << 2 }; /* ids that are asked about */

	for (unsigned shift = 12; shift <= 16; shift += 2) {
		uintptr_t size = (uintptr_t)1 << shift, from = (uintptr_t)1 << 40, to = from + 40 * size;
		struct mw_map_area a = { .start = from, .end = to };
		struct mw_map_areas areas = { .n = 1, .v = &a };
		struct mw_map_pages p;
		struct mw_map_walk w = {
			.api = &api, .areas = &areas, .pages = &p, .chosen = second, .chosen_n = 3
		};
		uint64_t live[40] = { 0 };
		bool stays[40] = { false };

		assert_true(mw_map_pages_make(&p));
		p.shift = shift;
		for (uintptr_t at = from; at < to; at += size)
			mw_map_pages_add(&p, at)->flags = MW_ENTRY_KNOWN;
		mw_map_pages_sort(&p);
		n_blocks = 0;
		for (uintptr_t at = from, end; at < to; at = end + any(2) * any(size / 16) * 16) {
			end = at + 16 + any(3) * any(size / 16) * 16;
			end = any(4) && end < to ? end : (at / size + 1) * size;
			block(at, end - at, 1 + (uint32_t)any(2));
			for (uintptr_t b = at; b < end; b += 16) {
				live[(b - from) / size] += 16;
				stays[(b - from) / size] |= blocks[n_blocks - 1].id == 1;
			}
		}
		mw_map_fill(&w);
		assert_int_equal(w.outside, 0);
		for (int i = 0; i < 40; i++) {
			const struct mw_map_entry *e = mw_map_entry(&p, from + (uintptr_t)i * size);

			assert_int_equal(e->live, live[i]);
			assert_int_equal(!!(e->flags & MW_ENTRY_STAYS), stays[i]);
		}
		mw_map_pages_free(&p);
	}
}

static void plant(void)
{
	seed = unit_seed();
}

ALL(plant, NULL);
