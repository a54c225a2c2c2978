/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that add up to the rows of the table, whatever was sampled; and their forms as text. */
/* uses: src/shared/report/profile.c src/server/report/collapsed.c src/shared/text/intern.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include <math.h>

#include "unit.h"
#include "made_up_profile.h"
#include "../../src/shared/text/intern.h"

enum { ROUNDS = UNIT_TIMES(4000), MOST = 40 };

static struct mw_profile_sampled sampled[MOST];
static size_t sampled_n; /* of sums_are_exact */

/* --- calibrated ----------------------------------------------------------- */

static uint64_t any_figure(void)
{
	static const uint64_t edges[] = { 0, 0, 1, 2, 3, UINT32_MAX, INT64_MAX, UINT64_MAX };

	return below(3) ? any_number() >> below(64) : edges[below(8)];
}

static double any_weight(void)
{
	const double edges[] = { 0, 0, 0, -1, NAN, INFINITY, 5e-324, 1e-300, 1.7e308, 1e30, 1, 1 };

	return below(3) ? (double)(any_number() >> below(64)) / 3 : edges[below(12)];
}

static void any_rows(size_t n)
{
	static const char *const names[] = { "/a.rb:1", "/b.rb:2", "/c.rb:3", "/d.rb:4", "/e.rb:5" };

	fake_clear();
	for (size_t i = 0; i < n; i++) {
		struct mw_row *r = fake_row(MW_KIND_RUBY, any_figure(), names[i]);

		r->allocations = any_figure();
		r->live_bytes = any_figure();
		r->live = any_figure();
		r->objects = below(2) ? any_figure() : 0;
		r->object_bytes = r->objects ? any_figure() : 0;
		r->object_samples = r->objects > 0;
		/* live now less live before, both of which a growth can hold */
		if (r->live_bytes <= INT64_MAX)
			r->growth = (int64_t)r->live_bytes - (int64_t)(any_number() >> (1 + below(63)));
	}
}

/* Do stacks of samples say who made the row's objects? */
static bool objects_sampled(uint32_t row)
{
	for (size_t i = 0; i < sampled_n; i++)
		if (sampled[i].row == row && sampled[i].bytes[MW_BY_OBJECTS] > 0)
			return true;
	return false;
}

/* The sum of a row's stacks. Growths may wrap on the way to their sum, which doesn't. */
static struct mw_row added(uint32_t row, size_t *stacks)
{
	struct mw_row sum = { 0 };

	*stacks = 0;
	for (size_t i = 0; i < made.n_stacks; i++) {
		const struct mw_profile_stack *s = &made.stacks[i];

		if (s->row != row)
			continue;
		sum.live_bytes += s->bytes[MW_BY_LIVE];
		sum.total += s->bytes[MW_BY_TOTAL];
		sum.live += s->blocks[MW_BY_LIVE];
		sum.allocations += s->blocks[MW_BY_TOTAL];
		sum.growth = (int64_t)((uint64_t)sum.growth + (uint64_t)s->growth);
		assert_true(s->bytes[MW_BY_LIVE] <= fake_rows[row].live_bytes);
		assert_true(s->bytes[MW_BY_TOTAL] <= fake_rows[row].total);
		if (s->blocks[MW_BY_OBJECTS] && !objects_sampled(row))
			assert_true(s->depth == 1 && !sum.objects); /* all are in one stack */
		sum.objects += s->blocks[MW_BY_OBJECTS];
		sum.object_bytes += s->bytes[MW_BY_OBJECTS];
		sum.object_samples += s->samples[MW_BY_OBJECTS];
		++*stacks;
	}
	return sum;
}

static void rows_are_whole(void)
{
	for (uint32_t i = 0; i < fake_n; i++) {
		const struct mw_row *r = &fake_rows[i];
		size_t stacks;
		struct mw_row sum = added(i, &stacks);

		assert_true(sum.live_bytes == r->live_bytes && sum.total == r->total);
		assert_true(sum.live == r->live && sum.allocations == r->allocations);
		assert_true(sum.objects == r->objects && sum.object_bytes == r->object_bytes);
		if (!objects_sampled(i))
			assert_true(sum.object_samples == r->object_samples);
		if (r->live_bytes <= INT64_MAX)
			assert_true(sum.growth == r->growth);
		if (r->live_bytes || r->total || r->live || r->allocations)
			assert_true(stacks > 0);
	}
}

EACH(fake_clear, made_end);

TEST(sums_are_exact)
{
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = below(MOST);

		any_rows(1 + below(5));
		made_begin();
		made_frame("f");
		for (size_t i = 0; i < n; i++) {
			sampled[i] = made_sample((uint32_t)below(fake_n + 3), any_weight(), any_weight());
			sampled[i].before = any_weight();
			sampled[i].blocks[MW_BY_LIVE] = any_weight();
			sampled[i].blocks[MW_BY_TOTAL] = any_weight();
			if (below(4))
				continue;
			sampled[i].bytes[MW_BY_OBJECTS] = any_weight();
			sampled[i].blocks[MW_BY_OBJECTS] = any_weight();
		}
		sampled_n = n;
		assert_true(mw_profile_calibrate(&made, sampled, n));
		rows_are_whole();
		made_end();
	}
}

TEST(the_same_samples_give_the_same)
{
	struct mw_profile_stack first[MOST + 3];
	size_t n;

	any_rows(3);
	for (int i = 0; i < MOST; i++)
		sampled[i] = made_sample((uint32_t)below(3), (double)below(4), (double)below(4));
	for (int round = 0; round < 2; round++) {
		made_begin();
		made_frame("f");
		assert_true(mw_profile_calibrate(&made, sampled, MOST));
		n = made.n_stacks;
		assert_true(n >= MOST - 1 && n <= MOST + 3);
		for (size_t i = 0; i < n; i++)
			made.stacks[i].frames = NULL; /* a location's own lie in the profile */
		if (round)
			assert_memory_equal(first, made.stacks, n * sizeof(*first));
		else
			memcpy(first, made.stacks, n * sizeof(*first));
		made_end();
	}
}

/* Row 0 has these figures, and the stacks have these bytes, in the samples' order. */
static void parts_are(uint64_t live, uint64_t total, size_t n, const uint64_t *lives, const uint64_t *totals)
{
	fake_clear();
	fake_row(MW_KIND_RUBY, total, "/a.rb:1")->live_bytes = live;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, n));
	assert_int_equal(made.n_stacks, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(made.stacks[i].bytes[MW_BY_LIVE], lives[i]);
		assert_int_equal(made.stacks[i].bytes[MW_BY_TOTAL], totals[i]);
	}
	made_end();
}
#define PARTS(...) ((const uint64_t[]){ __VA_ARGS__ })

TEST(the_largest_remainders_get_the_rest)
{
	sampled[0] = made_sample(0, 1, 5);
	sampled[1] = made_sample(0, 1, 3);
	sampled[2] = made_sample(0, 1, 2);
	parts_are(10, 7, 3, PARTS(4, 3, 3), PARTS(4, 2, 1)); /* 3.5, 2.1, 1.4 */
	parts_are(11, 1000, 3, PARTS(4, 4, 3), PARTS(500, 300, 200));
	parts_are(0, 1, 3, PARTS(0, 0, 0), PARTS(1, 0, 0));
	sampled[0] = made_sample(0, 1e12, 1e-12);
	parts_are(1000, 1000, 2, PARTS(1000, 0), PARTS(0, 1000));
}

TEST(what_was_not_seen_there_is_taken_from_elsewhere)
{
	/* all that was sampled is free again */
	sampled[0] = made_sample(0, 0, 300);
	sampled[1] = made_sample(0, 0, 100);
	parts_are(100, 4000, 2, PARTS(75, 25), PARTS(3000, 1000));
	/* no allocation since the reset was sampled */
	sampled[0] = made_sample(0, 300, 0);
	sampled[1] = made_sample(0, 100, 0);
	parts_are(100, 4000, 2, PARTS(75, 25), PARTS(3000, 1000));
	sampled[0] = made_sample(0, 0, 0);
	sampled[1] = made_sample(0, NAN, -1);
	parts_are(101, 3, 2, PARTS(51, 50), PARTS(2, 1));
	/* one live sample outweighs all dead ones */
	sampled[0] = made_sample(0, 1, 1);
	sampled[1] = made_sample(0, 0, 1e9);
	parts_are(100, 1000000001, 2, PARTS(100, 0), PARTS(1, 1000000000));
}

/* A location's first stack, which isn't a sample. */
static struct mw_profile_sampled first_stack(uint32_t row, double ever)
{
	struct mw_profile_sampled s = made_sample(row, 0, 0);

	s.samples[MW_BY_TOTAL] = 0;
	s.ever = ever;
	return s;
}

TEST(a_first_stack_counts_where_nothing_was_sampled)
{
	sampled[0] = first_stack(0, 1);
	parts_are(100, 4000, 1, PARTS(100), PARTS(4000));
	/* samples from before the reset weigh more */
	sampled[1] = first_stack(0, 3);
	parts_are(100, 4000, 2, PARTS(25, 75), PARTS(1000, 3000));
	/* nothing is left for it beside a sample, of which one figure is enough */
	sampled[1] = made_sample(0, 0, 1);
	fake_clear();
	fake_row(MW_KIND_RUBY, 4000, "/a.rb:1")->live_bytes = 100;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, 2));
	assert_int_equal(made.n_stacks, 1);
	assert_int_equal(made.stacks[0].bytes[MW_BY_LIVE], 100);
	assert_int_equal(made.stacks[0].bytes[MW_BY_TOTAL], 4000);
	assert_int_equal(made.stacks[0].samples[MW_BY_TOTAL], 1);
	made_end();
	/* an estimate has none */
	made_begin();
	made_frame("f");
	assert_true(mw_profile_estimate(&made, sampled, 2));
	assert_int_equal(made.n_stacks, 1);
}

/* Without stacks of samples of objects, whoever made the line ask for blocks. */
TEST(objects_are_of_the_line_alone)
{
	struct mw_row *r = fake_row(MW_KIND_RUBY, 1000, "/a.rb:1");
	const struct mw_profile_stack *own;

	r->objects = 10;
	r->object_bytes = 400;
	r->object_samples = 3;
	sampled[0] = made_sample(0, 1, 1);
	for (int estimate = 0; estimate < 2; estimate++) {
		made_begin();
		made_frame("f");
		assert_true(estimate ? mw_profile_estimate(&made, sampled, 1) :
				       mw_profile_calibrate(&made, sampled, 1));
		assert_int_equal(made.n_stacks, 2);
		own = &made.stacks[1];
		assert_int_equal(made.stacks[0].bytes[MW_BY_OBJECTS], 0);
		assert_int_equal(own->bytes[MW_BY_TOTAL], 0);
		assert_int_equal(own->bytes[MW_BY_OBJECTS], 400);
		assert_int_equal(own->blocks[MW_BY_OBJECTS], 10);
		assert_int_equal(made.samples[MW_BY_OBJECTS], 3);
		assert_string_equal(made.frames[own->frames[0]].name, "/a.rb:1");
		made_end();
	}
}

/* By their own samples; a quarter of what the row has may have stacks. Also where they are estimated. */
TEST(objects_are_of_those_who_made_them)
{
	struct mw_row *r = fake_row(MW_KIND_RUBY, 1000, "/a.rb:1");

	r->objects = 10;
	r->object_bytes = 640;
	r->object_samples = 30;
	sampled[0] = made_sample(0, 1, 1);
	for (size_t i = 1; i < 3; i++) {
		sampled[i] = made_sample(0, 0, 0);
		sampled[i].samples[MW_BY_TOTAL] = 0;
		sampled[i].samples[MW_BY_OBJECTS] = 4;
		sampled[i].bytes[MW_BY_OBJECTS] = 3 - (double)i;
		sampled[i].blocks[MW_BY_OBJECTS] = 1;
	}
	for (int estimate = 0; estimate < 2; estimate++) {
		made_begin();
		made_frame("f");
		assert_true(estimate ? mw_profile_estimate(&made, sampled, 3) :
				       mw_profile_calibrate(&made, sampled, 3));
		assert_int_equal(made.n_stacks, 3);
		assert_int_equal(made.stacks[0].bytes[MW_BY_OBJECTS], 0);
		assert_int_equal(made.stacks[1].bytes[MW_BY_OBJECTS], 427);
		assert_int_equal(made.stacks[2].bytes[MW_BY_OBJECTS], 213);
		assert_int_equal(made.stacks[1].blocks[MW_BY_OBJECTS], 5);
		assert_int_equal(made.stacks[2].bytes[MW_BY_TOTAL], 0);
		assert_int_equal(made.samples[MW_BY_OBJECTS], 8);
		made_end();
	}
}

TEST(blocks_are_divided_by_blocks)
{
	struct mw_row *r;

	r = fake_row(MW_KIND_RUBY, 1000, "/a.rb:1");
	r->allocations = 40;
	r->live = 4;
	sampled[0] = made_sample(0, 10, 10);
	sampled[1] = made_sample(0, 10, 10);
	sampled[0].blocks[MW_BY_TOTAL] = 3;
	sampled[0].blocks[MW_BY_LIVE] = sampled[1].blocks[MW_BY_LIVE] = 0;
	sampled[1].blocks[MW_BY_TOTAL] = 1;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, 2));
	assert_int_equal(made.stacks[0].bytes[MW_BY_TOTAL], 500);
	assert_int_equal(made.stacks[0].blocks[MW_BY_TOTAL], 30);
	assert_int_equal(made.stacks[0].blocks[MW_BY_LIVE], 3);
	assert_int_equal(made.stacks[1].blocks[MW_BY_LIVE], 1);
}

TEST(growth_is_of_the_same_stacks)
{
	struct mw_row *r;

	fake_clear();
	r = fake_row(MW_KIND_RUBY, 0, "/a.rb:1");
	r->live_bytes = 1000;
	r->growth = 600; /* 400 before */
	sampled[0] = made_sample(0, 9, 9);
	sampled[1] = made_sample(0, 1, 9);
	sampled[1].before = 5;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, 2));
	assert_int_equal(made.stacks[0].growth, 900);
	assert_int_equal(made.stacks[1].growth, -300);
	assert_int_equal(made.samples[MW_BY_LIVE], 2);
	sampled[1].before = 0; /* not known: as what lives now */
	assert_true(mw_profile_calibrate(&made, sampled, 2));
	assert_int_equal(made.stacks[0].growth, 540);
	assert_int_equal(made.stacks[1].growth, 60);
	made_end();
	/* before is counted too high: more grew than lives */
	fake_rows[0].growth = INT64_MAX;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, 1));
	assert_int_equal(made.stacks[0].growth, 1000);
	made_end();
	fake_rows[0].growth = INT64_MIN;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_calibrate(&made, sampled, 1));
	assert_true(made.stacks[0].growth == INT64_MIN);
}

/* The frame of a location without a sample. */
static void frame_is(enum mw_kind kind, const char *location, size_t len, const char *name,
		     const char *file, uint32_t line, uint64_t address)
{
	const struct mw_profile_frame *f;

	fake_clear();
	fake_row_n(kind, 17, location, len)->at = 7;
	made_begin();
	made_frame("of no stack");
	assert_true(mw_profile_calibrate(&made, NULL, 0));
	assert_int_equal(made.n_stacks, 1);
	assert_int_equal(made.stacks[0].depth, 1);
	assert_int_equal(made.stacks[0].bytes[MW_BY_LIVE], 17);
	assert_int_equal(made.stacks[0].samples[MW_BY_LIVE], 0);
	f = &made.frames[made.stacks[0].frames[0]];
	assert_string_equal(f->name, name);
	assert_string_equal(f->file, file);
	assert_int_equal(f->line, line);
	assert_int_equal(f->address, address);
	assert_int_equal(f->kind, kind);
	made_end();
}
#define FRAME_IS(kind, location, ...) frame_is(kind, location, strlen(location), __VA_ARGS__)

TEST(a_location_without_a_sample_is_a_stack)
{
	FRAME_IS(MW_KIND_RUBY, "/srv/a.rb:7", "/srv/a.rb:7", "/srv/a.rb", 7, 0);
	FRAME_IS(MW_KIND_RUBY, "", "?", "", 7, 0);
	frame_is(MW_KIND_RUBY, "\0b:7", 4, "?b:7", "?b", 7, 0);
	FRAME_IS(MW_KIND_NATIVE, "/l/x.so(f_g+0x1f) [0x7f12]", "f_g", "/l/x.so", 0, 0x7f12);
	FRAME_IS(MW_KIND_NATIVE, "/l/x.so(+0x1f) [0x7f12]", "/l/x.so(+0x1f)", "/l/x.so", 0, 0x7f12);
	FRAME_IS(MW_KIND_NATIVE, "/l/x.so(f", "/l/x.so(f", "/l/x.so", 0, 0);
	FRAME_IS(MW_KIND_NATIVE, "(f+0x1) [0x7f12]", "f", "", 0, 0x7f12);
	FRAME_IS(MW_KIND_NATIVE, "[0x7f12]", "[0x7f12]", "[0x7f12]", 0, 0x7f12);
	FRAME_IS(MW_KIND_SPECIAL, "(ruby, line not known)", "(ruby, line not known)", "", 0, 0);
}

TEST(nothing_is_a_profile_too)
{
	struct mw_buf b = { 0 };

	memset(fake_rows, 0, sizeof(fake_rows));
	fake_n = 2; /* rows without any figure */
	made_begin();
	assert_true(mw_profile_calibrate(&made, NULL, 0));
	assert_int_equal(made.n_stacks, 0);
	mw_profile_collapsed(&b, &made, MW_BY_LIVE);
	assert_string_equal(text_of(&b), "");
	mw_profile_speedscope(&b, &made, "");
	assert_non_null(strstr(text_of(&b), "\"samples\":[],\n\"weights\":[],\n\"endValue\":0}"));
	mw_buf_free(&b);
}

TEST(estimates_as_they_are)
{
	fake_clear();
	fake_row(MW_KIND_RUBY, 1000, "/a.rb:1");
	fake_row(MW_KIND_RUBY, 1000, "/b.rb:1");
	sampled[0] = made_sample(0, 250.5, 1e30);
	sampled[1] = made_sample(2, 1, 1); /* no such row */
	sampled[2] = made_sample(0, -5, NAN);
	sampled[2].before = 20;
	made_begin();
	made_frame("f");
	assert_true(mw_profile_estimate(&made, sampled, 3));
	assert_int_equal(made.n_stacks, 2);
	assert_int_equal(made.stacks[0].bytes[MW_BY_LIVE], 251);
	assert_int_equal(made.stacks[0].blocks[MW_BY_LIVE], 3);
	assert_true(made.stacks[0].bytes[MW_BY_TOTAL] == 9000000000000000000u);
	assert_int_equal(made.stacks[1].bytes[MW_BY_LIVE], 0);
	assert_int_equal(made.stacks[1].growth, -20);
	assert_int_equal(made.samples[MW_BY_TOTAL], 2);
}

/* --- lines ---------------------------------------------------------------- */

static void collapsed_are(enum mw_profile_by by, const char *want)
{
	struct mw_buf b = { 0 };

	mw_profile_collapsed(&b, &made, by);
	assert_string_equal(text_of(&b), want);
	mw_buf_free(&b);
}

TEST(lines_outermost_first)
{
	uint32_t main_frame, run, parse, other, odd;

	fake_row(MW_KIND_RUBY, 1, "/a.rb:1");
	made_begin();
	main_frame = made_frame("<main>");
	run = made_frame("block in run");
	parse = made_frame_at(MW_KIND_RUBY, "parse", "/srv/p.rb", 5, 0);
	other = made_frame_at(MW_KIND_RUBY, "parse", "/srv/p.rb", 6, 0);
	odd = made_frame("a;b\n\r\tc\x7f\xff\xe2\x82 \xe2\x82\xac\"");
	MADE_STACK(5, parse, run, main_frame);
	MADE_STACK(UINT64_MAX, main_frame)->bytes[MW_BY_TOTAL] = 1;
	MADE_STACK(7, other, run, main_frame); /* the same text */
	MADE_STACK(0, run, main_frame)->bytes[MW_BY_TOTAL] = 9;
	MADE_STACK(1, main_frame);
	MADE_STACK(2, odd);
	collapsed_are(MW_BY_LIVE, "<main>;block in run;parse 12\n"
				  "<main> 18446744073709551615\n"
				  "a:b   c \xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac\" 2\n");
	collapsed_are(MW_BY_TOTAL, "<main>;block in run;parse 12\n"
				   "<main> 2\n"
				   "<main>;block in run 9\n"
				   "a:b   c \xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac\" 2\n");
}

TEST(texts_that_differ_stay_apart)
{
	enum { N = 5000 };
	static char names[N][8];
	struct mw_buf b = { 0 };
	uint64_t lines = 0, sum = 0, n;
	char *at, *line;

	fake_row(MW_KIND_RUBY, 1, "/a.rb:1");
	made_begin();
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%u", i);
		made_frame(names[i]);
	}
	for (unsigned i = 0; i < 2 * N; i++)
		MADE_STACK(i % N + 1, i % N);
	mw_profile_collapsed(&b, &made, MW_BY_LIVE);
	for (line = strtok_r(text_of(&b), "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
		assert_int_equal(sscanf(line, "f%" SCNu64 " %" SCNu64, &n, &sum), 2);
		assert_int_equal(n, lines++);
		assert_int_equal(sum, 2 * (n + 1));
	}
	assert_int_equal(lines, N);
	mw_buf_free(&b);
}

/* So many that some have the same hash. */
TEST(pieces_of_one_hash_stay_apart)
{
	enum { N = 400000 };
	struct mw_intern t = { 0 };

	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < N; i++)
			assert_true(mw_intern(&t, &i, sizeof(i)) == i);
	assert_int_equal(t.n, N);
	assert_int_equal(mw_intern(&t, NULL, 0), N);
	assert_int_equal(mw_intern_str(&t, ""), N);
	mw_intern_free(&t);
}
