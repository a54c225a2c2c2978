/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's facts about pages in the memory map: huge pages, swap, sharing after a fork, and
 * a kernel that must be asked page by page.
 */
/* uses: @server */
#include "unit.h"
#include "made_up_blocks.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/* residency.c itself, but for the way to open it */
#define mw_residency_open really_open
#include "../../src/shared/sys/residency.c"
#undef mw_residency_open

#include "../../src/server/pages/map.h"

static enum mw_residency_how most; /* the best way that is allowed */
static uint64_t budget; /* 0: as usual */
static int fake; /* a file instead of /proc/self/pagemap; -1: none */

void mw_residency_open(struct mw_residency *r, enum mw_residency_how best)
{
	really_open(r, best < most ? best : most);
	if (fake >= 0) {
		mw_residency_close(r);
		r->fd = dup(fake);
		r->how = MW_RESIDENCY_PAGEMAP;
	}
	if (budget)
		r->budget = budget;
}

/* AddressSanitizer's shadow has 4,000 million pages: page by page these take too long, so some are left out. */
#ifdef __SANITIZE_ADDRESS__
enum { RESERVED = true };
#else
enum { RESERVED = false };
#endif

static void start(void)
{
	most = MW_RESIDENCY_SCAN;
	budget = 0;
	fake = -1;
	begin();
}

static unsigned flags_of(const struct mw_map *m, uintptr_t a)
{
	int64_t cell = mw_map_cell_of(m, a);

	assert_true(cell >= 0);
	return m->fill[cell] & ~(unsigned)MW_MAP_IS_MASK;
}

/* --- huge pages ------------------------------------------------------------------------------ */

enum { HUGE = 2 << 20 };

/* The kernel's own figure, in bytes */
static uint64_t huge_by_smaps(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char text[256];
	unsigned long kb = 0;

	assert_non_null(f);
	while (fgets(text, sizeof(text), f))
		if (sscanf(text, "AnonHugePages: %lu", &kb) == 1)
			break;
	fclose(f);
	return (uint64_t)kb << 10;
}

/* Room for three huge pages, of which the first is in memory: a byte of it was written. */
static char *huge_page(uintptr_t *at)
{
	char *p = mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*at = ((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1);
	assert_int_equal(madvise((void *)*at, 3 * HUGE, MADV_HUGEPAGE), 0);
	*(volatile char *)*at = 1;
	return p;
}

EACH(start, end);

TEST(huge)
{
	uintptr_t at, read_only;
	char *p;
	struct mw_map *m;
	uint64_t truth;

	/* Ruby, which runs the tests, turns them off for itself and its children */
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
	p = huge_page(&at);
	read_only = at + HUGE;
	/* the huge page of zeros is nobody's memory; some kernels give a page of its own here instead */
	assert_int_equal(*(volatile char *)read_only, 0);
	block(at, 100, 1);
	truth = huge_by_smaps();
	m = map();
	if (m->huge != truth || !truth) {
		struct mw_residency r;

		really_open(&r, most);
		mw_residency_close(&r);
		if (truth && r.how == MW_RESIDENCY_SCAN)
			fail_msg("%lu bytes in huge pages, not %lu", (unsigned long)m->huge,
				 (unsigned long)truth);
		print_message("no huge page, or a kernel that doesn't tell\n");
		skip();
	}
	assert_int_equal(flags_of(m, at), MW_MAP_IS_HUGE);
	assert_int_equal(flags_of(m, at + HUGE - page), MW_MAP_IS_HUGE);
	assert_int_equal(state_of(m, at), MW_MAP_IS_USED + 100 * MW_MAP_IS_FILL / page);
	assert_int_equal(state_of(m, at + page), MW_MAP_IS_EMPTY);
	if (truth == HUGE)
		assert_int_equal(mw_map_cell_of(m, read_only) < 0 ? 0 : state_of(m, read_only),
				 MW_MAP_IS_ABSENT);
	else
		assert_int_equal(flags_of(m, read_only), MW_MAP_IS_HUGE);
	mw_map_free(m);
	/* once a page of it is given back, the others are pages of their own, and khugepaged leaves them so */
	madvise((void *)at, 3 * HUGE, MADV_NOHUGEPAGE);
	madvise((void *)(at + page), page, MADV_DONTNEED);
	m = map();
	assert_int_equal(m->huge, huge_by_smaps());
	assert_int_equal(flags_of(m, at), 0);
	assert_int_equal(state_of(m, at + page), MW_MAP_IS_ABSENT);
	assert_int_equal(state_of(m, at + 2 * page), MW_MAP_IS_EMPTY);
	mw_map_free(m);
	munmap(p, 4 * HUGE);
}

/* --- swap ------------------------------------------------------------------------------------ */

static void entry(size_t p, uint64_t v)
{
	assert_int_equal(pwrite(fake, &v, sizeof(v), (off_t)(at(p) / page * sizeof(v))), sizeof(v));
}

/* Of a machine that has swapped pages out; all other memory is absent in its pagemap. */
TEST(swap)
{
	struct mw_map_whatif w;
	static const uint32_t ids[] = { 1 };
	struct mw_map *m;

	fake = memfd_create("pagemap", MFD_CLOEXEC);
	assert_true(fake >= 0);
	entry(0, ENTRY_PRESENT | ENTRY_EXCLUSIVE);
	entry(2, ENTRY_SWAPPED | 12345);
	entry(4, ENTRY_SWAPPED | 12346);
	entry(5, ENTRY_PRESENT | ENTRY_EXCLUSIVE);
	entry(6, ENTRY_PRESENT);
	block(at(0), page / 2, 1);
	block(at(2), page / 2, 1);
	block(at(3) - 100, 200, 2); /* on a swapped page and an absent one */
	m = map();
	assert_int_equal(state_of(m, at(0)), MW_MAP_IS_USED + MW_MAP_IS_FILL / 2);
	assert_int_equal(state_of(m, at(1)), MW_MAP_IS_ABSENT);
	assert_int_equal(state_of(m, at(2)), MW_MAP_IS_SWAPPED);
	assert_int_equal(state_of(m, at(4)), MW_MAP_IS_SWAPPED);
	assert_int_equal(state_of(m, at(5)), MW_MAP_IS_EMPTY);
	assert_int_equal(flags_of(m, at(5)), 0);
	assert_int_equal(flags_of(m, at(6)), MW_MAP_IS_SHARED);
	assert_int_equal(m->swapped, 2 * page);
	assert_int_equal(m->shared, page);
	assert_int_equal(mw_map_seen(m), 3 * page);
	assert_int_equal(m->parts[MW_MAP_LIVE], page / 2);
	assert_int_equal(m->parts[MW_MAP_HOLES], page - page / 2);
	assert_int_equal(m->parts[MW_MAP_EMPTY], 2 * page);
	assert_int_equal(m->live_bytes, page / 2 + page / 2 + 200);
	assert_int_equal(m->outside, 0);
	/* a line holds memory, not swap */
	assert_string_equal(m->lines[0].location, "a.rb:1");
	assert_int_equal(m->lines[0].holds, page);
	assert_int_equal(m->lines[1].holds, 0);
	assert_int_equal(m->trim.bytes, 2 * page);
	mw_map_free(m);
	assert_true(mw_map_whatif(&api, ids, 1, &w));
	assert_int_equal(w.bytes, 2 * (page / 2));
	assert_int_equal(w.empty_then - w.empty_now, page);
	close(fake);
}

TEST(swap_in_words)
{
	struct mw_map m = { .allocator = "glibc", .page = 4096, .swapped = 3 << 20 };
	struct mw_buf b = { 0 };

	m.parts[MW_MAP_LIVE] = 5 << 20;
	m.left_out = 2 << 20;
	m.unsearched = UINT64_C(16) << 40;
	m.undrawn = UINT64_C(1) << 30;
	mw_map_sentence(&b, &m);
	mw_buf_add(&b, "", 1);
	assert_false(b.failed);
	assert_string_equal(
		b.p,
		"5.00 MB is in memory. 5.00 MB of it is what 0 live blocks use. "
		"3.00 MB more is swapped out. This isn\xe2\x80\x99t all: 2.00 MB more is in memory than a map has room for. "
		"16.0 TB of address space wasn\xe2\x80\x99t searched for memory, as it takes too long. "
		"1.00 GB of address space isn\xe2\x80\x99t drawn, for want of room.");
	mw_buf_free(&b);
}

/* --- a kernel that must be asked page by page --------------------------------------------------- */

TEST(a_budget)
{
	struct mw_map *whole, *cut;

	block(at(0), 100, 1);
	most = MW_RESIDENCY_PAGEMAP;
	whole = map();
	assert_int_equal(whole->unsearched != 0, RESERVED);
	budget = 1;
	cut = map();
	assert_true(cut->unsearched);
	assert_true(mw_map_seen(cut) < mw_map_seen(whole));
	assert_true(mw_map_seen(cut) <= 2048 * page); /* one reading */
	assert_int_equal(cut->live, 1);
	mw_map_free(cut);
	mw_map_free(whole);
}

/* The map doesn't search a mapping without resident pages. It reads other large mappings last. */
TEST(a_reservation)
{
	const size_t bytes = (size_t)3 << 30;
	char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct mw_map *m;

	assert_ptr_not_equal(p, MAP_FAILED);
	block(at(0), page / 40, 1);
	most = MW_RESIDENCY_PAGEMAP;
	budget = bytes / page / 2;
	m = map();
	assert_int_equal(m->unsearched != 0, RESERVED);
	mw_map_free(m);
	assert_int_equal(mprotect(p, bytes, PROT_READ | PROT_WRITE), 0);
	p[bytes - 1] = 1;
	block((uintptr_t)p + bytes - 10, 10, 2);
	m = map();
	assert_true(m->unsearched >= bytes / 3);
	assert_true(state_of(m, at(0)) > MW_MAP_IS_USED);
	assert_int_equal(state_of(m, at(2)), MW_MAP_IS_EMPTY);
	assert_int_equal(mw_map_cell_of(m, (uintptr_t)p + bytes - 10), -1); /* its end is what is missing */
	mw_map_free(m);
	munmap(p, bytes);
}

/* --- shared after a fork ------------------------------------------------------------------------- */

/* A child that keeps all pages until its input ends */
static pid_t keeper(int *to)
{
	int ends[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) != 0);
	}
	close(ends[0]);
	*to = ends[1];
	return pid;
}

TEST(shared)
{
	static const enum mw_residency_how ways[] = { MW_RESIDENCY_PAGEMAP, MW_RESIDENCY_SCAN };

	block(at(0), 100, 1);
	block(at(2), 100, 1);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct mw_map *m;
		int end, status;
		pid_t child;

		most = ways[i];
		m = map();
		assert_int_equal(flags_of(m, at(0)), 0);
		mw_map_free(m);
		child = keeper(&end);
		*(volatile char *)at(2) = 1; /* this one is copied */
		m = map();
		assert_int_equal(flags_of(m, at(0)), MW_MAP_IS_SHARED);
		assert_int_equal(flags_of(m, at(2)), 0);
		assert_int_equal(flags_of(m, at(4)), MW_MAP_IS_SHARED);
		assert_int_equal(flags_of(m, at(1)), 0); /* not in memory */
		assert_in_range(m->shared, (PAGES / 2 - 1) * page, mw_map_seen(m));
		assert_int_equal(m->parts[MW_MAP_LIVE], 200);
		mw_map_free(m);
		close(end);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		m = map();
		assert_int_equal(flags_of(m, at(0)), 0);
		assert_int_equal(flags_of(m, at(4)), 0);
		mw_map_free(m);
	}
}
