/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child's inherited counts, since a baseline, and after they went to another id. */
/* uses: src/tracker/table/fork_baseline.c */
#include "unit.h"
#include "../../src/tracker/table/fork_baseline.h"

static bool no_memory;
static void *grown[8]; /* chunks, freed at the end */
static size_t grown_n;

/* arena.c's, of which fork_baseline.c needs no more. */
void *mw_arena_grow(size_t n, enum mw_arena_for what)
{
	(void)what;
	if (no_memory)
		return NULL;
	if (grown_n == sizeof(grown) / sizeof(*grown))
		abort(); /* in the test, which keeps count of chunks */
	return grown[grown_n++] = calloc(1, n);
}

static void teardown(void)
{
	while (grown_n)
		free(grown[--grown_n]);
}

/* n, n + 1, ... in the five sums */
static struct mw_counters from(uint64_t n)
{
	return (struct mw_counters){
		.bytes = n, .allocs = n + 1, .freed = n + 2, .frees = n + 3, .life_sum = n + 4
	};
}

static const struct mw_counters zero;

static void part_is(uint32_t id, struct mw_counters since, struct mw_counters want)
{
	struct mw_counters got = mw_fork_baseline_part(id, &since);

	assert_int_equal(got.bytes, want.bytes);
	assert_int_equal(got.allocs, want.allocs);
	assert_int_equal(got.freed, want.freed);
	assert_int_equal(got.frees, want.frees);
	assert_int_equal(got.life_sum, want.life_sum);
}

#define WHOLE(n) ((struct mw_counters){ n, n, n, n, n })

/* ids from 2 * MW_CS_CHUNK on */
TEST(nothing_was_said)
{
	part_is(2 * MW_CS_CHUNK, zero, zero);
	part_is(2 * MW_CS_CHUNK, from(5), zero);
	part_is(MW_CS_MAX - 1, zero, zero);
}

TEST(since_a_baseline)
{
	struct mw_counters c = from(100);

	mw_fork_baseline_set(7, &c);
	part_is(7, zero, from(100));
	part_is(7, from(100), zero);
	part_is(7, from(60), WHOLE(40));
	part_is(7, from(101), zero); /* the baseline is younger */
	part_is(7, from(UINT64_MAX - 10), zero);
	part_is(7, (struct mw_counters){ .bytes = 200, .frees = 3 },
		(struct mw_counters){ .allocs = 101, .freed = 102, .frees = 100, .life_sum = 104 });
	part_is(6, zero, zero);
	part_is(8, zero, zero);
	part_is(7 + MW_CS_CHUNK, zero, zero);
	c = from(50);
	mw_fork_baseline_set(7, &c); /* once more */
	part_is(7, zero, from(50));
	c = from(UINT64_MAX - 4);
	mw_fork_baseline_set(MW_CS_CHUNK - 1, &c);
	part_is(MW_CS_CHUNK - 1, zero, from(UINT64_MAX - 4));
	part_is(MW_CS_CHUNK - 2, zero, zero);
	mw_fork_baseline_set(MW_CS_MAX - 1, &c);
	part_is(MW_CS_MAX - 1, zero, from(UINT64_MAX - 4));
}

/* `from`'s inherited counts go to the other one, whose baseline is raised by `more`. */
TEST(it_moves)
{
	struct mw_counters a = from(100), base = from(60), to, more, after;

	/* the other one inherited nothing */
	mw_fork_baseline_set(10, &a);
	to = from(1000);
	more = WHOLE(500);
	mw_fork_baseline_fold(10, &base, 11, &to, &more);
	/* its baseline is at 1000, 1500 after that: 40 of what came then it inherited */
	after = (struct mw_counters){ 1500, 1501, 1002, 1003, 1004 };
	part_is(11, after, WHOLE(40));
	/* inherited before the other's baseline, and after it */
	a = from(900);
	mw_fork_baseline_set(12, &a);
	a = from(100);
	mw_fork_baseline_set(13, &a);
	mw_fork_baseline_fold(13, &base, 12, &to, &more);
	part_is(12, after, WHOLE(40));
	a = from(1200);
	mw_fork_baseline_set(14, &a);
	mw_fork_baseline_fold(13, &base, 14, &to, &more);
	part_is(14, after, WHOLE(240));
}

/* Where there is nothing to move, nothing is kept, nor made up. */
TEST(nothing_moves)
{
	struct mw_counters base = from(60), to = from(1000), more = WHOLE(500);
	uint32_t first = 3 * MW_CS_CHUNK;
	size_t before = grown_n;

	mw_fork_baseline_fold(first + 1, &base, first + 2, &to, &more);
	assert_int_equal(grown_n, before);
	part_is(first + 2, zero, zero);
	/* into one that inherited something, which stays what it is */
	base = from(2000);
	mw_fork_baseline_set(first + 3, &base);
	mw_fork_baseline_fold(first + 1, &base, first + 3, &to, &more);
	part_is(first + 3, (struct mw_counters){ 1500, 1501, 1002, 1003, 1004 }, WHOLE(1000));
}

/* Then it counts as inheriting none. */
TEST(memory_is_short)
{
	struct mw_counters c = from(100), base = from(60), to = from(1000), more = WHOLE(500);
	uint32_t first = 4 * MW_CS_CHUNK;

	no_memory = true;
	mw_fork_baseline_set(first, &c);
	part_is(first, zero, zero);
	mw_fork_baseline_fold(10, &base, first, &to, &more);
	part_is(first, zero, zero);
	no_memory = false;
	mw_fork_baseline_set(first, &c);
	part_is(first, zero, from(100));
}

/* baselines that one test sets stay for the next */
ALL(NULL, teardown);
