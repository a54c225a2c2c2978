/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locations' growth in a range of time: by the moments of the history, and since a mark. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/marks/grown.h"

enum { LEAK = 1, FALLS = 2, SMALL = 3, LATE = 299, IDS = 300 };
#include "fake_curves.h"

static void all_there(void)
{
	setup();
	end = IDS;
}

/* Each second up to `to`: one leaks 64 bytes, one falls by as much; one comes after 20 seconds. */
static void run(uint32_t to)
{
	for (; now <= to; now++) {
		end = now < 20 ? LATE : IDS;
		sums[LEAK].bytes = 6400 + now * 64;
		sums[FALLS].bytes = 64000 - now * 64;
		sums[LATE].bytes = now < 20 ? 0 : 3200;
		step();
	}
}

static const struct mw_row *row_of(const struct mw_snapshot *s, uint32_t id)
{
	assert_int_equal(s->rows[id - 1].id, id);
	return &s->rows[id - 1];
}

EACH(all_there, teardown);

TEST(between_two_moments)
{
	struct mw_snapshot *s = snapshot();
	struct mw_grown g;

	run(62);
	/* moments are 5 s apart: the last one not after each end */
	assert_int_equal(mw_grown_read(&g, &c, &api, 12, 44.9), 0);
	assert_true(g.from == 10 && g.to == 40);
	assert_true(g.total == 3200); /* what leaks and what falls are even */
	assert_true(mw_grown_set(s, &g));
	assert_true(row_of(s, LEAK)->growth == 30 * 64);
	assert_true(row_of(s, FALLS)->growth == -30 * 64);
	assert_true(row_of(s, LATE)->growth == 3200);
	assert_true(row_of(s, SMALL)->growth == 0);
	assert_true(mw_grown_sum(s) == g.total);
	mw_grown_free(&g);
	/* within one step nothing is known to have changed; nor is there anything before the first one */
	assert_int_equal(mw_grown_read(&g, &c, &api, 11, 14), 0);
	assert_true(g.from == 10 && g.to == 10 && g.total == 0);
	assert_true(mw_grown_set(s, &g));
	assert_true(row_of(s, LEAK)->growth == 0);
	mw_grown_free(&g);
	assert_int_equal(mw_grown_read(&g, &c, &api, -9, -1), 1);
	assert_true(mw_grown_set(s, &g)); /* all zero: no growth */
	assert_true(mw_grown_sum(s) == 0);
	snapshot_free(s);
}

/* The history keeps units of 64 bytes. */
TEST(by_no_more_than_is_live)
{
	run(22);
	for (uint64_t bytes = 1; bytes < 300; bytes++) {
		struct mw_snapshot *s;
		struct mw_grown g;

		for (uint32_t until = now + 5; now < until; now++) {
			sums[LATE].bytes = bytes;
			step();
		}
		s = snapshot();
		assert_int_equal(mw_grown_read(&g, &c, &api, 0, now), 0);
		assert_true(mw_grown_set(s, &g));
		assert_in_range(row_of(s, LATE)->growth, bytes < 64 ? 0 : bytes - 63, bytes);
		mw_grown_free(&g);
		snapshot_free(s);
	}
}

/* An id that another location has by now, and one without a row. */
TEST(of_the_same_location)
{
	static const uint64_t bytes[] = { 100, 900 };
	struct mw_curve curves[3];
	struct mw_grown g = { .set = { .n = 3, .v = curves } };
	struct mw_snapshot *s = snapshot();

	for (int i = 0; i < 3; i++)
		curves[i] =
			(struct mw_curve){ .location = "f7:1", .location_len = 4, .n = 2, .bytes = bytes };
	curves[0].id = 7;
	curves[1].id = 8;
	curves[2].id = MW_ID_NONE;
	assert_true(mw_grown_set(s, &g));
	assert_true(row_of(s, 7)->growth == 800);
	assert_true(mw_grown_sum(s) == 800);
	snapshot_free(s);
}

/* There are more locations than the history keeps: of the others together it knows the sum. */
TEST(more_than_are_kept)
{
	struct mw_snapshot *s = snapshot();
	struct mw_grown g;
	int64_t sum = 0;

	for (uint32_t id = SMALL; id < LATE; id++)
		sums[id].bytes = 640000 + id * 64;
	run(30);
	for (uint32_t id = SMALL; id < LATE; id++)
		sums[id].bytes += 6400;
	run(62);
	assert_int_equal(mw_grown_read(&g, &c, &api, 30, 62), 0);
	assert_true(g.total == (LATE - SMALL) * 6400);
	assert_true(mw_grown_set(s, &g));
	sum = mw_grown_sum(s);
	assert_true(sum > 200 * 6400 && sum < g.total);
	mw_grown_free(&g);
	snapshot_free(s);
}

TEST(since_a_mark)
{
	struct mw_snapshot *s = snapshot();
	struct mw_mark mark = { 0 };

	sums[LEAK].bytes = 100;
	snapshot_free(s);
	s = snapshot();
	assert_int_equal(mw_mark_set(&mark, s, 1), 0);
	s->rows[LEAK - 1].live_bytes = 30;
	s->rows[LATE - 1].live_bytes = 7;
	assert_true(mw_grown_set_mark(s, &mark));
	assert_true(row_of(s, LEAK)->growth == -70 && row_of(s, LATE)->growth == 7);
	assert_true(mw_grown_sum(s) == -63);
	mw_mark_clear(&mark);
	snapshot_free(s);
}
