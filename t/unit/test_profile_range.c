/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth in a range of time, divided among the stacks: by what was born in it. */
/* uses: src/shared/report/profile.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"
#include "made_up_profile.h"

static struct mw_profile_sampled sampled[2];

/* A location's first stack, which isn't a sample. */
static struct mw_profile_sampled first_stack(uint32_t row, double ever)
{
	struct mw_profile_sampled s = made_sample(row, 0, 0);

	s.samples[MW_BY_TOTAL] = 0;
	s.ever = ever;
	return s;
}

/* Row 0 has grown by so much in a range, and the stacks have these parts of it. */
static void grown_parts_are(int64_t growth, size_t n, const int64_t *parts)
{
	fake_clear();
	fake_row(MW_KIND_RUBY, 4000, "/a.rb:1")->live_bytes = 100;
	fake_rows[0].growth = growth;
	made_begin();
	made.ranged = true;
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, n));
	assert_int_equal(made.n_stacks, n);
	for (size_t i = 0; i < n; i++)
		assert_true(made.stacks[i].growth == parts[i]);
	made_end();
}
#define GROWN(...) ((const int64_t[]){ __VA_ARGS__ })

EACH(fake_clear, made_end);

TEST(growth_of_a_range_is_of_the_born)
{
	sampled[0] = made_sample(0, 9, 9);
	sampled[1] = made_sample(0, 1, 9);
	sampled[1].born = 1;
	sampled[1].born_samples = 3;
	grown_parts_are(70, 2, GROWN(0, 70)); /* all that lives is mostly the other's */
	sampled[0].born = 3;
	grown_parts_are(1000, 2, GROWN(750, 250)); /* more than lives now */
	grown_parts_are(INT64_MAX, 2, GROWN(6917529027641081855, 2305843009213693952));
	/* live blocks divide a row that shrank, or one without born blocks */
	grown_parts_are(-70, 2, GROWN(-63, -7));
	grown_parts_are(INT64_MIN, 1, GROWN(INT64_MIN));
	sampled[0].born = sampled[1].born = 0;
	grown_parts_are(70, 2, GROWN(63, 7));
	sampled[0] = first_stack(0, 1);
	sampled[1] = first_stack(0, 3);
	grown_parts_are(80, 2, GROWN(20, 60));
	grown_parts_are(0, 2, GROWN(0, 0));
	/* a location alone; one that isn't there any more */
	fake_clear();
	fake_row(MW_KIND_RUBY, 0, "/a.rb:1")->growth = -5;
	fake_rows[0].live = fake_rows[0].allocations = 0;
	made_begin();
	made.ranged = true;
	assert_true(mw_profile_calibrate(&made, NULL, 0));
	assert_int_equal(made.n_stacks, 1);
	assert_true(made.stacks[0].growth == -5);
	assert_int_equal(made.born_samples, 0);
	made_end();
	/* as estimated, nothing is known of what was freed */
	sampled[0] = made_sample(0, 9, 9);
	sampled[0].born = 4;
	sampled[0].born_samples = 2;
	fake_rows[0].growth = -100;
	made_begin();
	made.ranged = true;
	made_frame("f");
	assert_true(mw_profile_estimate(&made, sampled, 1));
	assert_true(made.stacks[0].growth == 4);
	assert_int_equal(made.born_samples, 2);
}
