/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range into which a word points, checked by a search through all of them, for ranges of many kinds. */
/* uses: src/server/holders/ranges.c */
#include "unit.h"
#include "../../src/server/holders/ranges.h"

enum { MOST = 20000 };

static struct mw_range made[MOST];
static struct mw_ranges ranges;
static uint64_t seed;

/* The same numbers in every run */
static uint64_t below(uint64_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (seed >> 33) % n;
}

static struct mw_range made_at(const void *of, uint32_t i)
{
	return ((const struct mw_range *)of)[i];
}

static void ready(uint32_t n)
{
	free(ranges.windows);
	free(ranges.first);
	ranges = (struct mw_ranges){ .n = n, .at = made_at, .of = made };
	ranges.windows = calloc(1, MW_RANGES_WINDOWS_BYTES);
	ranges.first = calloc(1, mw_ranges_windows(&ranges) + sizeof(uint32_t));
	mw_ranges_fill(&ranges);
}

static int64_t searched(uintptr_t word)
{
	for (uint32_t i = 0; i < ranges.n; i++)
		if (word >= made[i].start && word < made[i].end)
			return i;
	return -1;
}

static void same(uintptr_t word)
{
	assert_int_equal(mw_ranges_find(&ranges, word), searched(word));
}

/* Ends, neighbours and middles of each range, and addresses that no range has. */
static void look(void)
{
	for (uint32_t i = 0; i < ranges.n; i += 1 + (uint32_t)below(1 + ranges.n / 200)) {
		same(made[i].start - 1);
		same(made[i].start);
		same(made[i].start + (made[i].end - made[i].start) / 2);
		same(made[i].end - 1);
		same(made[i].end);
	}
	for (int i = 0; i < 200; i++)
		same(below(UINT64_C(1) << MW_RANGE_ADDRESS));
	same(0);
	same(UINTPTR_MAX);
	same((uintptr_t)1 << MW_RANGE_ADDRESS);
}

TEST(test_none)
{
	ready(0);
	look();
}

/* Blocks as malloc has them: 16 bytes and more, some of several pages, in a few arenas. */
TEST(test_blocks)
{
	uintptr_t at = UINT64_C(0x7f0000000000);

	seed = 1;
	for (uint32_t i = 0; i < MOST; i++) {
		uint64_t size = below(100) ? 1 + below(600) : 1 + below(200000);

		if (!below(2000))
			at += below(UINT64_C(1) << 32);
		made[i] = (struct mw_range){ at, at + size };
		at += (size + 15) / 16 * 16 + (below(3) ? 0 : 16 * below(40));
	}
	ready(MOST);
	look();
}

/* A block may be a sparse array of terabytes: it takes no more memory than a small one. */
TEST(test_terabytes)
{
	uintptr_t at = UINT64_C(0x100000000000);

	seed = 3;
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t size = i % 3 ? 1 + below(UINT64_C(1) << 28) :
				i % 2 ? UINT64_C(1) << (20 + below(20)) :
					1 + below(UINT64_C(1) << 40);

		made[i] = (struct mw_range){ at, at + size };
		at = at + size + (below(2) ? 0 : 1 + below(UINT64_C(1) << 27));
		if (!below(4))
			at = (at + (1 << MW_RANGE_WINDOW) - 1) & -((uintptr_t)1 << MW_RANGE_WINDOW);
	}
	ready(300);
	assert_in_range(ranges.n_windows, 1, 2 * 300 + 200 * 5);
	look();
}

/* As many as a page has room for, and the end of a longer one before them. */
TEST(test_full_pages)
{
	uintptr_t at = UINT64_C(0x555500000000) + 8;

	made[0] = (struct mw_range){ at, at + 5000 };
	at = (at + 5000 + 15) / 16 * 16;
	for (uint32_t i = 1; i < 3000; i++, at += 16)
		made[i] = (struct mw_range){ at, at + 1 + i % 16 };
	ready(3000);
	look();
}

/* Ranges across windows of 64 MiB, the lowest and the highest address. */
TEST(test_borders)
{
	const uintptr_t window = (uintptr_t)1 << MW_RANGE_WINDOW, top = (uintptr_t)1 << MW_RANGE_ADDRESS;

	made[0] = (struct mw_range){ 16, 17 };
	made[1] = (struct mw_range){ window - 1, 3 * window + 1 };
	made[2] = (struct mw_range){ 3 * window + 16, 3 * window + 32 };
	made[3] = (struct mw_range){ top - 16, top };
	ready(4);
	look();
}
