/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries (choose, group, sort, page) and their rows in every form. */
/* uses: src/shared/report/rows.c src/shared/report/group.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/location.c */
#include "unit.h"
#include "fake_api.h"
#include "known_columns.h"

#define RUBY MW_KIND_RUBY
#define NATIVE MW_KIND_NATIVE
#define SPECIAL MW_KIND_SPECIAL

static struct mw_query q;
static struct mw_result res;

static void setup(void)
{
	q = (struct mw_query){ .sort = -1 };
	fake_clear();
}

static void run(void)
{
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	for (size_t i = 0; i < res.n; i++)
		assert_int_equal(res.rows[i].location[res.rows[i].location_len], 0);
}

static void done(void)
{
	mw_result_free(&res, &fake_api);
	assert_null(res.rows);
	assert_null(res.snapshot);
	assert_int_equal(fake_out, 0);
}

/* The locations of the result, in order, with blanks between them. */
static void gives(const char *want)
{
	struct mw_buf b = { 0 };

	run();
	for (size_t i = 0; i < res.n; i++) {
		mw_buf_str(&b, i ? " " : "");
		mw_buf_add(&b, res.rows[i].location, res.rows[i].location_len);
	}
	mw_buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	mw_buf_free(&b);
	done();
}

static void renders(enum mw_format format, const char *want)
{
	struct mw_buf b = { 0 };

	run();
	mw_render(&b, &res, format);
	assert_false(b.failed);
	mw_buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	mw_buf_free(&b);
	done();
}

/* These rows, and no more. */
static void renders_rows(enum mw_format format, size_t n, const struct known_row *known)
{
	struct mw_buf want = { 0 };

	run();
	assert_int_equal(res.n, n);
	want_table(&want, format, res.rows, n, known);
	mw_buf_add(&want, "", 1);
	assert_false(want.failed);
	done();
	renders(format, want.p);
	mw_buf_free(&want);
}

static void sort_by(const char *name, int order)
{
	q.sort = mw_column_find(name, strlen(name));
	assert_true(q.sort >= 0);
	q.order = order;
}

EACH(setup, NULL);

TEST(no_rows)
{
	gives("");
	q.group = MW_GROUP_GEM;
	gives("");
	q.group = MW_GROUP_FILE;
	q.offset = 3;
	gives("");
	renders(MW_FORMAT_TEXT, "");
	renders_rows(MW_FORMAT_TSV, 0, NULL);
	renders_rows(MW_FORMAT_CSV, 0, NULL);
	renders(MW_FORMAT_JSON, "[]\n");
}

TEST(no_memory)
{
	fake_row(RUBY, 1, "a:1");
	fake_no_memory = true;
	assert_int_equal(mw_result_make(&res, &fake_api, &q), -1);
	assert_null(res.rows);
	assert_null(res.snapshot);
	assert_int_equal(fake_out, 0);
}

TEST(min_is_compared_with_the_largest_of_total_live_and_object_bytes)
{
	fake_row(RUBY, 0, "nothing:1")->allocations = 7;
	fake_row(RUBY, 100, "a:1")->live_bytes = 0;
	fake_row(RUBY, 101, "b:1")->live_bytes = 5;
	fake_row(RUBY, 0, "reset:1")->live_bytes = 102;
	fake_row(RUBY, 0, "made:1")->object_bytes = 103; /* and it called no malloc */
	gives("b:1 a:1 made:1 reset:1");
	q.min = 99;
	gives("b:1 a:1 made:1 reset:1");
	q.min = 100;
	gives("b:1 made:1 reset:1");
	q.min = 101;
	gives("made:1 reset:1");
	q.min = 102;
	gives("made:1");
	q.min = UINT64_MAX;
	gives("");
}

TEST(sorting_by_every_column)
{
	struct mw_row *r;
	static const char *const numbers[] = { "total",      "bytes", "allocations", "frees",
					       "live_bytes", "live",  "max_life" };

	/* every number of c is the largest, of a the least, of b between */
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "b", "c", "a" };
		static const uint64_t values[] = { 500, UINT64_MAX, 3 };

		r = fake_row(RUBY, values[i], names[i]);
		r->allocations = r->frees = r->live_bytes = r->live = r->life_max = values[i];
	}
	gives("c b a"); /* the default is total, most first */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		sort_by(numbers[i], 0);
		gives("c b a");
		q.order = -1;
		gives("c b a");
		q.order = 1;
		gives("a b c");
	}
	sort_by("location", 0);
	gives("a b c");
	q.order = -1;
	gives("c b a");
	q.sort = 1000; /* no such column: the default */
	gives("c b a");
}

TEST(sorting_signed_and_means)
{
	struct mw_row *r;

	fake_row(RUBY, 1, "plus")->growth = INT64_MAX;
	fake_row(RUBY, 1, "minus")->growth = INT64_MIN;
	fake_row(RUBY, 1, "one")->growth = -1;
	fake_row(RUBY, 1, "zero")->growth = 0;
	sort_by("growth", 0);
	gives("plus zero one minus");
	q.order = 1;
	gives("minus one zero plus");

	fake_n = 0;
	fake_row(RUBY, 9, "none"); /* freed nothing: last in either order */
	r = fake_row(RUBY, 1, "third");
	r->life_sum = 1, r->frees = 3;
	r = fake_row(RUBY, 1, "half");
	r->life_sum = 1, r->frees = 2;
	r = fake_row(RUBY, 1, "big");
	r->life_sum = UINT64_MAX, r->frees = 1;
	r = fake_row(RUBY, 1, "nearly"); /* the same as big but for the last digit */
	r->life_sum = UINT64_MAX - 1, r->frees = 1;
	r = fake_row(RUBY, 1, "never");
	r->life_sum = 0, r->frees = 5;
	sort_by("mean_life", 0);
	gives("big nearly half third never none");
	q.order = 1;
	gives("never third half nearly big none");
}

TEST(ties_are_in_the_order_of_locations)
{
	fake_row(RUBY, 5, "b:1");
	fake_row(RUBY, 5, "a:10");
	fake_row(RUBY, 5, "a:1");
	fake_row(RUBY, 5, "\xff");
	fake_row(RUBY, 5, "A");
	gives("A a:1 a:10 b:1 \xff");
	sort_by("frees", 1);
	gives("A a:1 a:10 b:1 \xff");
	q.order = -1;
	gives("A a:1 a:10 b:1 \xff");
	sort_by("location", -1);
	gives("\xff b:1 a:10 a:1 A");
}

TEST(pages)
{
	for (int i = 0; i < 5; i++) {
		static const char *const names[] = { "a", "b", "c", "d", "e" };

		fake_row(RUBY, (uint64_t)(50 - i), names[i]);
	}
	q.limit = 2;
	gives("a b");
	q.offset = 4;
	gives("e");
	q.offset = 5;
	gives("");
	q.offset = UINT64_MAX;
	q.limit = UINT64_MAX;
	gives("");
	q.offset = 3;
	gives("d e");
	q.limit = 0;
	gives("d e");
	q.limit = 1;
	run();
	assert_int_equal(res.n, 1);
	assert_int_equal(res.matched, 5);
	assert_int_equal(res.sum.total, 50 + 49 + 48 + 47 + 46); /* of all that match */
	done();
}

/* Every page, by every column, is that part of the whole: many values are the same, and some places too. */
TEST(pages_are_parts_of_the_whole)
{
	static char names[60][8];
	uint32_t whole[60];

	for (uint32_t i = 0; i < 60; i++) {
		struct mw_row *r;

		snprintf(names[i], sizeof(names[i]), "f:%u", i * 7 % 40);
		r = fake_row(RUBY, i * 37 % 11 + 1, names[i]);
		r->frees = i * 5 % 4;
		r->life_sum = i % 9;
		r->growth = (int64_t)(i * 13 % 7) - 3;
	}
	for (q.sort = 0; q.sort < MW_COLUMNS_N; q.sort++) {
		for (q.order = -1; q.order <= 1; q.order += 2) {
			q.limit = q.offset = 0;
			run();
			assert_int_equal(res.n, 60);
			for (size_t i = 0; i < res.n; i++)
				whole[i] = res.rows[i].id;
			done();
			for (q.offset = 0; q.offset < 62; q.offset++) {
				for (q.limit = 1; q.limit < 62; q.limit += q.limit < 5 ? 1 : 11) {
					size_t left = q.offset < 60 ? 60 - q.offset : 0;

					run();
					assert_int_equal(res.n, q.limit < left ? q.limit : left);
					assert_int_equal(res.matched, 60);
					for (size_t i = 0; i < res.n; i++)
						assert_int_equal(res.rows[i].id, whole[q.offset + i]);
					done();
				}
			}
		}
	}
}

TEST(substrings)
{
	fake_row(RUBY, 3, "/srv/app.rb:1");
	fake_row(RUBY, 2, "/srv/b.rb:1");
	fake_row_n(RUBY, 1, "", 0);
	q.q = "app";
	q.q_len = 3;
	gives("/srv/app.rb:1");
	q.q = "/srv/app.rb:1x";
	q.q_len = 14;
	gives("");
	q.q_len = 13;
	gives("/srv/app.rb:1");
	q.q = "", q.q_len = 0;
	gives("/srv/app.rb:1 /srv/b.rb:1 ");
	q.q = "APP", q.q_len = 3;
	gives("");
}

TEST(sums)
{
	struct mw_row *r;

	for (int i = 0; i < 2; i++) {
		r = fake_row(RUBY, 10, i ? "f.rb:1" : "f.rb:2");
		r->allocations = 3, r->frees = 2, r->freed = 6;
		r->life_sum = 7, r->life_max = i ? 4 : 5;
		r->growth = i ? -4 : 1, r->live_bytes = 11, r->live = 2;
	}
	for (q.group = MW_GROUP_LINE; q.group <= MW_GROUP_GEM; q.group++) {
		run();
		r = q.group == MW_GROUP_LINE ? &res.sum : &res.rows[0];
		assert_int_equal(res.matched, q.group == MW_GROUP_LINE ? 2 : 1);
		for (int i = 0; i < 2; i++, r = &res.sum) {
			assert_int_equal(r->total, 20);
			assert_int_equal(r->allocations, 6);
			assert_int_equal(r->frees, 4);
			assert_int_equal(r->freed, 12);
			assert_int_equal(r->life_sum, 14);
			assert_int_equal(r->life_max, 5);
			assert_int_equal(r->growth, -3);
			assert_int_equal(r->live_bytes, 22);
			assert_int_equal(r->live, 4);
			assert_true(r->id == MW_ID_NONE);
		}
		done();
	}
}

TEST(sums_stop_at_the_largest_value)
{
	fake_row(RUBY, UINT64_MAX, "f.rb:1")->growth = INT64_MAX;
	fake_row(RUBY, 5, "f.rb:2")->growth = 5;
	q.group = MW_GROUP_FILE;
	run();
	assert_true(res.rows[0].total == UINT64_MAX);
	assert_true(res.rows[0].growth == INT64_MAX);
	assert_true(res.sum.total == UINT64_MAX);
	done();
	fake_rows[0].growth = INT64_MIN;
	fake_rows[1].growth = -5;
	run();
	assert_true(res.rows[0].growth == INT64_MIN);
	done();
}

TEST(groups_by_file)
{
	fake_row(RUBY, 60, "/a.rb:1");
	fake_row(RUBY, 100, "/b.rb:7");
	fake_row(RUBY, 60, "/a.rb:22");
	fake_row(NATIVE, 30, "/usr/lib/libx.so(f+0x1) [0x7f00]");
	fake_row(NATIVE, 30, "/usr/lib/libx.so(g+0x2) [0x7f01]");
	fake_row(SPECIAL, 10, "(other)");
	q.group = MW_GROUP_FILE;
	gives("/a.rb /b.rb /usr/lib/libx.so (other)");
	q.min = 100; /* of the groups, not of the lines in them */
	gives("/a.rb");
	q.min = 0;
	q.q = ":22";
	q.q_len = 3;
	gives("/a.rb");
	run();
	assert_int_equal(res.rows[0].total, 60); /* the lines that q asks for */
	done();
	q.q = "libx";
	q.q_len = 4;
	q.limit = 1;
	gives("/usr/lib/libx.so");
	/* a file_len that makes no sense: the whole location */
	setup();
	q.group = MW_GROUP_FILE;
	fake_row(RUBY, 2, "odd:1")->file_len = 1000;
	fake_row(RUBY, 1, "zero:1")->file_len = 0;
	gives("odd:1 zero:1");
}

TEST(gems_are_summed_and_searched)
{
	fake_row(RUBY, 10, "/g/gems/rack-2/lib/a.rb:1");
	fake_row(NATIVE, 20, "/g/gems/rack-2/lib/a.so(f) [0x1]");
	fake_row(RUBY, 25, "/usr/lib/ruby/3.1.0/set.rb:1");
	fake_row(RUBY, 1, "/usr/lib/ruby/3.1.0/json.rb:1");
	fake_row(RUBY, 5, "<internal:a>:1");
	fake_row(RUBY, 1, "<internal:b>:1");
	q.group = MW_GROUP_GEM;
	gives("rack-2 ruby 3.1 stdlib ruby core");
	run();
	assert_int_equal(res.rows[0].total, 30);
	assert_int_equal(res.rows[1].total, 26);
	assert_int_equal(res.rows[2].total, 6);
	done();
	q.q = "stdlib"; /* in no path: a group's name */
	q.q_len = 6;
	gives("ruby 3.1 stdlib");
	q.q = "set.rb";
	gives("ruby 3.1 stdlib");
	run();
	assert_int_equal(res.sum.total, 25);
	done();
}

TEST(many_groups_keep_their_names)
{
	static char names[64][3000];

	for (int i = 0; i < 64; i++) { /* names that make the buffer grow and move */
		memset(names[i], 'a' + i % 26, sizeof(names[i]));
		sprintf(names[i] + 2900, "%02d.rb:1", i);
		fake_row(RUBY, (uint64_t)(1000 - i), names[i]);
	}
	q.group = MW_GROUP_FILE;
	run();
	assert_int_equal(res.n, 64);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(res.rows[i].location_len, 2905);
		assert_memory_equal(res.rows[i].location, names[i], 2905);
	}
	done();
}

/* The rows of forms(): no mean, and the two locations, as that form has them. */
static void renders_two(enum mw_format format, const char *none, const char *a, const char *x)
{
	const struct known_row known[] = {
		{ { "51200000", "100000", "2", "-7", "51200000", "3", "2.5", "4", a } },
		{ { "2", "1", "0", "2", "2", "1", none, "0", x } },
	};

	renders_rows(format, 2, known);
}

TEST(forms)
{
	struct mw_row *r;

	r = fake_row(RUBY, 51200000, "/srv/a,b\t\"c\xff.rb:3");
	r->allocations = 100000, r->frees = 2, r->life_sum = 5, r->life_max = 4;
	r->growth = -7, r->live = 3;
	fake_row(NATIVE, 2, "x\n(f) [0x1]");
	renders(MW_FORMAT_TEXT, "        51200000       100000 /srv/a,b\\t\"c\xff.rb:3\n"
				"               2            1 x\\n(f) [0x1]\n");
	renders_two(MW_FORMAT_TSV, "", "/srv/a,b\\t\"c\xef\xbf\xbd.rb:3", "x\\n(f) [0x1]");
	renders_two(MW_FORMAT_CSV, "", "\"/srv/a,b\t\"\"c\xef\xbf\xbd.rb:3\"", "\"x\n(f) [0x1]\"");
	renders_two(MW_FORMAT_JSON, "null", "\"/srv/a,b\\t\\\"c\xef\xbf\xbd.rb:3\"", "\"x\\n(f) [0x1]\"");
}

TEST(extremes)
{
	struct mw_row *r = fake_row(RUBY, UINT64_MAX, "x:1");

	r->allocations = r->frees = r->live = r->life_sum = r->life_max = UINT64_MAX;
	r->growth = INT64_MIN;
	renders(MW_FORMAT_TEXT, "18446744073709551615 18446744073709551615 x:1\n");
#define MOST "18446744073709551615"
	renders_rows(MW_FORMAT_TSV, 1,
		     &(struct known_row){ { MOST, MOST, MOST, "-9223372036854775808", MOST, MOST, "1",
					    MOST, "x:1" } });
}
