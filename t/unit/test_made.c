/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line that made the objects that stay (made.h), and the sentence about it. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/verdict/made.h"
#include "../../src/server/verdict/words.h"

#define SEED 7

static struct mw_object_stay stays[4096];
static struct mw_evidence e;
static struct mw_verdict v;
static uint32_t window;

static void setup(void)
{
	e = (struct mw_evidence){ .stays = stays };
	v = (struct mw_verdict){ .kind = MW_VERDICT_HEAP };
}

EACH(setup, NULL);

static void some(uint32_t line, size_t n, uint32_t born, double bytes, const char *class)
{
	for (size_t i = 0; i < n; i++)
		stays[e.stays_n++] = (struct mw_object_stay){ line, born, window++, bytes, class };
}

static const char *words(double since)
{
	static char text[300];
	struct mw_buf b = { 0 };

	mw_made_find(&e, since, since + 20, __builtin_nan(""), &v.made);
	if (v.made.samples) {
		v.made.at.location = "/app/leak.rb:3";
		v.made.at.len = 14;
		v.made.at.file_len = 12;
		v.made.at.kind = MW_KIND_RUBY;
	}
	mw_words_made(&b, &v);
	mw_buf_add(&b, "", 1);
	assert_false(b.failed);
	assert_true(b.n <= sizeof(text));
	memcpy(text, b.p, b.n);
	mw_buf_free(&b);
	return text;
}

TEST(nothing)
{
	assert_string_equal(words(0), "");
	assert_true(mw_made_bytes(&e, 0) == 0);
}

TEST(too_few_samples)
{
	some(7, 29, 10, 40, "Array");
	assert_string_equal(words(0), "");
	assert_true(mw_made_bytes(&e, 0) == 0);
	some(7, 1, 10, 40, "Array");
	assert_string_equal(words(0),
			    "; 100 % (\xc2\xb1 7) of the objects that stay were made at leak.rb:3 (Array)");
	assert_true(mw_made_bytes(&e, 0) == 1200);
}

/* Objects that were made before the window are no part of its growth. */
TEST(of_the_window)
{
	some(1, 1000, 10, 400, "Hash");
	some(7, 100, 60, 40, "Array");
	assert_string_equal(words(50),
			    "; 100 % (\xc2\xb1 2) of the objects that stay were made at leak.rb:3 (Array)");
	assert_true(mw_made_bytes(&e, 50) == 4000);
	assert_int_equal(v.made.line, 7);
	words(0);
	assert_int_equal(v.made.line, 1);
}

/* As many, but all of a window alike: the share may be off by more. */
TEST(the_samples_of_a_window_are_alike)
{
	double alone;

	for (int i = 0; i < 96; i++)
		some(i % 4 ? 7 : 8, 1, 10, 40, "Array");
	words(0);
	alone = v.made.error;
	assert_int_equal(v.made.line, 7);
	e.stays_n = 0;
	for (uint32_t i = 0; i < 96; i++) {
		some(i / 8 % 4 ? 7 : 8, 1, 10, 40, "Array");
		stays[e.stays_n - 1].window = i / 8;
	}
	words(0);
	assert_true(v.made.error > 2 * alone);
	for (uint32_t i = 0; i < 96; i++)
		stays[i].window = 1;
	assert_string_equal(words(0), ""); /* one window says nothing */
}

/* Windows by chance: the true share is within the stated error in 19 of 20 cases. */
TEST(the_stated_error_is_right)
{
	unsigned within = 0, all = 0;
	uint64_t random = SEED;

	for (int round = 0; round < 1000; round++) {
		e.stays_n = 0;
		for (int w = 0; w < 60; w++) {
			uint32_t line, many;

			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			line = (random >> 40 & 1023) < 700 ? 7 : 8;
			many = 1 + (uint32_t)(random >> 52) % 12;
			some(line, many, 10, 40, "Array");
			for (uint32_t i = 0; i < many; i++)
				stays[e.stays_n - 1 - i].window = window;
		}
		words(0);
		if (v.made.line != 7)
			continue;
		all++;
		within += __builtin_fabs(v.made.at.share - 700 / 1024.) <= v.made.error;
	}
	print_message("# %u of %u within the stated error\n", within, all);
	assert_true(all > 900 && within > all * 92 / 100);
}

TEST(two_lines_of_one_size)
{
	some(7, 50, 10, 40, "Array");
	some(8, 51, 10, 40, "Array");
	assert_string_equal(words(0), "");
	some(8, 60, 10, 40, "Array");
	words(0);
	assert_int_equal(v.made.line, 8);
}

/* A cache that was full at 12; something else goes on. */
TEST(a_line_that_has_stopped)
{
	some(7, 100, 12, 40, "Array");
	some(8, 20, 20, 40, "Hash");
	assert_string_equal(words(9), "");
	some(7, 5, 20, 40, "Array");
	words(9);
	assert_int_equal(v.made.line, 7);
}

/*
 * Objects that stay are from a part of the time, and must be a third of its growth. If that part is too short, other
 * lines may have made most.
 */
TEST(too_little_of_the_growth)
{
	some(7, 50, 0, 40, "Array");
	some(7, 50, 20, 40, "Array");
	mw_made_find(&e, 0, 100, 5 * 3 * 4000 + 1, &v.made);
	assert_int_equal(v.made.samples, 0);
	mw_made_find(&e, 0, 100, 5 * 3 * 4000, &v.made);
	assert_int_equal(v.made.samples, 100);
	mw_made_find(&e, 0, 100, -1, &v.made);
	assert_int_equal(v.made.samples, 100);
	mw_made_find(&e, 0, 140, 4000, &v.made);
	assert_int_equal(v.made.samples, 0);
}

TEST(spread_over_many_lines)
{
	for (uint32_t line = 0; line < 10; line++)
		some(line, 100, 10, 40, "Array");
	assert_string_equal(words(0), "");
	assert_true(mw_made_bytes(&e, 0) == 40000);
}

TEST(share_error_and_classes)
{
	some(7, 300, 10, 40, "String");
	some(7, 250, 10, 80, "Array");
	some(7, 50, 10, 40, "Proc");
	some(8, 200, 10, 30, "Hash");
	some(7, 10, 10, 1, "");
	assert_string_equal(
		words(0),
		"; 85 % (\xc2\xb1 2) of the objects that stay were made at leak.rb:3 (Array, String)");
	v.made.owner = "Registry.@records, an Array";
	{
		struct mw_buf b = { 0 };

		mw_words_made(&b, &v);
		mw_buf_add(&b, "", 1);
		assert_string_equal(b.p, "; 85 % (\xc2\xb1 2) of the objects that stay were made at leak.rb:3 (Array, "
					 "String), kept by Registry.@records, an Array");
		mw_buf_free(&b);
	}
	v.made.at.location = NULL; /* its name isn't known */
	{
		struct mw_buf b = { 0 };

		mw_words_made(&b, &v);
		assert_int_equal(b.n, 0);
	}
}

/* The shares of random lines: the largest one is found, whatever their order. */
TEST(random_lines)
{
	unsigned seed = SEED;

	print_message("# SEED %d\n", SEED);
	for (int round = 0; round < 200; round++) {
		double bytes[6] = { 0 }, all = 0;
		uint32_t most = 0;

		setup();
		for (int i = 0; i < 600; i++) {
			uint32_t line = (uint32_t)rand_r(&seed) % 6;
			double n = rand_r(&seed) % 100 + 1;

			some(line, 1, (uint32_t)rand_r(&seed) % 100, n, "Array");
			if (stays[e.stays_n - 1].born < 20)
				continue;
			bytes[line] += n;
			all += n;
		}
		for (uint32_t i = 1; i < 6; i++)
			most = bytes[i] > bytes[most] ? i : most;
		mw_made_find(&e, 20, 100, 0, &v.made);
		if (bytes[most] < all * 0.25) {
			assert_int_equal(v.made.samples, 0);
			continue;
		}
		assert_int_equal(v.made.line, most);
		assert_true(v.made.at.change == bytes[most]);
		assert_true(v.made.at.share > 0.999 * bytes[most] / all &&
			    v.made.at.share < 1.001 * bytes[most] / all);
	}
}
