/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named marks: changes against full copies, tenants, names, how many there are, and memory. */
/* uses: @server */
#include "unit.h"
#include "../../src/shared/sys/clock.h"
#include "../../src/server/marks/marks.h"

enum { ROWS = 500, NAME = 48 };

static struct mw_marks m;
static struct mw_api api;
static size_t slabs_left;
static void *slabs[MW_MARKS_SLABS + 1];
static size_t slabs_n;
static uint64_t seed;

static uint64_t chance(uint64_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed % n;
}

static void *keep(size_t bytes)
{
	if (!slabs_left || bytes != MW_MARKS_SLAB)
		return NULL;
	slabs_left--;
	assert_true(slabs_n < MW_MARKS_SLABS);
	slabs[slabs_n] = malloc(bytes);
	memset(slabs[slabs_n], 0xa5, bytes); /* nobody may count on zeros */
	return slabs[slabs_n++];
}

static void setup(void)
{
	memset(&m, 0, sizeof(m));
	api = (struct mw_api){ .keep = keep };
	slabs_left = MW_MARKS_SLABS;
	slabs_n = 0;
	seed = 88172645463325252u;
}

static void teardown(void)
{
	while (slabs_n)
		free(slabs[--slabs_n]);
}

/* --- tables ------------------------------------------------------------------------------ */

static char texts[ROWS][NAME];
static struct mw_row rows[ROWS];
static struct mw_snapshot table = { .rows = rows };

static struct mw_row *row(size_t i, const char *text, enum mw_kind kind, uint64_t at)
{
	const char *end = strrchr(text, kind == MW_KIND_NATIVE ? '(' : ':');

	snprintf(texts[i], NAME, "%s", text);
	rows[i] = (struct mw_row){ .location = texts[i],
				   .location_len = (uint32_t)strlen(text),
				   .file_len = (uint32_t)(end ? end - text : 0),
				   .at = at,
				   .kind = kind,
				   .id = (uint32_t)i };
	return &rows[i];
}

static void numbers(struct mw_row *r, uint64_t bytes, uint64_t blocks, uint64_t allocations, uint64_t frees)
{
	r->live_bytes = bytes;
	r->live = blocks;
	r->allocations = allocations;
	r->frees = frees;
	r->objects = chance(2) ? chance(1000) : 0;
	r->object_bytes = r->objects * 40;
	r->object_variance = r->objects * r->objects / 9;
}

static void fill(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[NAME];

		snprintf(text, sizeof(text), "/srv/app/some/file_%zu.rb:%zu", i % 37, i);
		numbers(row(i, text, MW_KIND_RUBY, i), chance(1000000), chance(1000), chance(1 << 30),
			chance(1 << 30));
	}
	table.n = n;
}

static int mark(const char *name)
{
	struct mw_moment moment = { .uptime = 1 };

	return mw_marks_add(&m, &api, name, &moment, &table);
}

static uint64_t at_mark(const char *name, const struct mw_row *r, enum mw_marks_number k)
{
	const struct mw_named_mark *mark_of = mw_marks_find(&m, name, strlen(name));
	uint32_t place = mw_marks_place_of(&m, mw_marks_key(r));
	struct mw_marks_numbers *v;
	uint64_t is;

	assert_non_null(mark_of);
	if (place == UINT32_MAX)
		return 0;
	v = mw_marks_read(&m, mark_of);
	is = v[place].v[k];
	free(v);
	return is;
}

/* --- full copies -------------------------------------------------------------------------- */

struct copy {
	char name[8];
	struct mw_marks_numbers v[ROWS];
};
static struct copy copies[MW_MARKS_MAX + 1];
static size_t copies_n;

static void take_copy(const char *name)
{
	for (size_t i = 0; i < copies_n; i++)
		if (!strcmp(copies[i].name, name)) {
			memmove(&copies[i], &copies[i + 1], (copies_n - i - 1) * sizeof(*copies));
			copies_n--;
		}
	if (copies_n == MW_MARKS_MAX) {
		memmove(&copies[0], &copies[1], (copies_n - 1) * sizeof(*copies));
		copies_n--;
	}
	memset(&copies[copies_n], 0, sizeof(*copies));
	strcpy(copies[copies_n].name, name);
	for (size_t i = 0; i < table.n; i++)
		copies[copies_n].v[rows[i].at] = (struct mw_marks_numbers){
			{ rows[i].live_bytes, rows[i].live, rows[i].allocations, rows[i].frees,
			  rows[i].objects, rows[i].object_bytes, rows[i].object_variance }
		};
	copies_n++;
}

static void drop_copy(size_t i)
{
	memmove(&copies[i], &copies[i + 1], (copies_n - i - 1) * sizeof(*copies));
	copies_n--;
}

static void are_the_same(void)
{
	assert_int_equal(m.n, copies_n);
	for (size_t i = 0; i < copies_n; i++) {
		struct mw_marks_numbers *v = mw_marks_read(&m, &m.v[i]);
		struct mw_marks_numbers by_row[ROWS] = { 0 };

		assert_string_equal(m.v[i].name, copies[i].name);
		for (uint32_t p = 0; p < m.places; p++) {
			const char *line = strrchr(mw_marks_place(&m, p)->text, ':');

			by_row[atoi(line + 1)] = v[p];
		}
		assert_memory_equal(by_row, copies[i].v, sizeof(by_row));
		free(v);
	}
}

EACH(setup, teardown);

/* Rows come, change by anything, and go; marks are set, replaced and taken away. */
TEST(changes_are_as_good_as_copies)
{
	copies_n = 0;
	fill(ROWS);
	for (int round = 0; round < UNIT_TIMES(400); round++) {
		char name[8];
		size_t n = chance(4) ? chance(20) : chance(ROWS);

		for (size_t i = 0; i < n; i++) {
			struct mw_row *r = &rows[chance(ROWS)];
			static const uint64_t extremes[] = { 0, 1, UINT64_MAX, INT64_MAX,
							     UINT64_C(1) << 63 };

			numbers(r, chance(9) ? chance(1 << 20) : extremes[chance(5)], chance(1000),
				chance(1 << 30), chance(9) ? r->frees : extremes[chance(5)]);
		}
		table.n = chance(5) ? ROWS : 1 + chance(ROWS);
		snprintf(name, sizeof(name), "%d", (int)chance(90));
		assert_int_equal(mark(name), 0);
		take_copy(name);
		if (!chance(4)) {
			size_t i = chance(copies_n);

			assert_true(mw_marks_remove(&m, &api, copies[i].name));
			drop_copy(i);
		}
		if (round % 10 == 0)
			are_the_same();
	}
	are_the_same();
	while (copies_n) {
		assert_true(mw_marks_remove(&m, &api, copies[copies_n / 2].name));
		drop_copy(copies_n / 2);
		are_the_same();
	}
	assert_false(mw_marks_remove(&m, &api, "0"));
	assert_true(mw_marks_bytes(&m) == 0); /* all of it is free again */
}

/* --- tenants ------------------------------------------------------------------------------ */

TEST(an_id_may_have_another_tenant)
{
	struct mw_row before;

	numbers(row(0, "/a.rb:1", MW_KIND_RUBY, 1), 100, 1, 1, 0);
	table.n = 1;
	before = rows[0];
	assert_int_equal(mark("a"), 0);
	before.location = "/a.rb:1";
	numbers(row(0, "/b.rb:1", MW_KIND_RUBY, 1), 70, 7, 7, 0);
	assert_int_equal(mark("b"), 0);
	assert_true(at_mark("a", &before, MW_MARKS_BYTES) == 100 &&
		    at_mark("a", rows, MW_MARKS_BYTES) == 0);
	assert_true(at_mark("b", &before, MW_MARKS_BYTES) == 0 && at_mark("b", rows, MW_MARKS_BLOCKS) == 7);
}

/* A library that is loaded again has another address, and perhaps another id. */
TEST(native_code_is_known_by_module_and_offset)
{
	numbers(row(0, "/lib/x.so(f+0x1) [0x7f001001]", MW_KIND_NATIVE, 0x1001), 10, 1, 1, 0);
	numbers(row(1, "/lib/x.so(f+0x2) [0x7f001002]", MW_KIND_NATIVE, 0x1002), 20, 1, 1, 0);
	numbers(row(2, "/lib/y.so(f+0x1) [0x7f101001]", MW_KIND_NATIVE, 0x1001), 30, 1, 1, 0);
	table.n = 3;
	assert_int_equal(mark("a"), 0);
	assert_int_equal(m.places, 3);
	assert_string_equal(mw_marks_place(&m, 0)->text, "/lib/x.so(f+0x1)");
	/* without its symbol; and twice, at two addresses */
	numbers(row(0, "/lib/x.so(+0x1001) [0x7e001001]", MW_KIND_NATIVE, 0x1001), 11, 1, 1, 0);
	numbers(row(1, "/lib/x.so(f+0x1) [0x7f001001]", MW_KIND_NATIVE, 0x1001), 5, 2, 2, 0);
	assert_int_equal(mark("b"), 0);
	assert_int_equal(m.places, 3);
	assert_true(at_mark("a", rows, MW_MARKS_BYTES) == 10);
	assert_true(at_mark("b", rows, MW_MARKS_BYTES) == 16 && at_mark("b", rows, MW_MARKS_BLOCKS) == 3);
	/* the same text of another kind is another place */
	numbers(row(3, "/lib/x.so(f+0x1)", MW_KIND_SPECIAL, 0), 1, 1, 1, 0);
	assert_int_equal(mw_marks_place_of(&m, mw_marks_key(&rows[3])), UINT32_MAX);
}

TEST(any_bytes_of_any_length)
{
	char *text = malloc(100000);
	struct mw_row long_ones[2] = { { .kind = MW_KIND_RUBY, .live_bytes = 1 },
				       { .kind = MW_KIND_RUBY, .live_bytes = 2 } };
	struct mw_snapshot s = { .n = 2, .rows = long_ones };
	struct mw_moment moment = { 0 };

	memset(text, 'x', 100000);
	long_ones[0].location = long_ones[1].location = text;
	long_ones[0].location_len = 99999;
	long_ones[1].location_len = 100000;
	assert_int_equal(mw_marks_add(&m, &api, "long", &moment, &s), 0);
	assert_int_equal(m.places, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(mw_marks_place(&m, i)->text_len, MW_MARKS_TEXT);
		assert_true(at_mark("long", &long_ones[i], MW_MARKS_BYTES) == i + 1);
	}
	long_ones[0].location_len = long_ones[1].location_len = 0;
	assert_int_equal(mw_marks_add(&m, &api, "none", &moment, &s), 0);
	assert_true(at_mark("none", &long_ones[0], MW_MARKS_BYTES) == 3);
	free(text);
}

/* --- bounds ------------------------------------------------------------------------------- */

TEST(the_oldest_go)
{
	char name[8];

	fill(10);
	for (int i = 0; i < MW_MARKS_MAX + 3; i++) {
		rows[0].live_bytes = (uint64_t)i;
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mark(name), 0);
	}
	assert_int_equal(m.n, MW_MARKS_MAX);
	assert_int_equal(m.gone, 3);
	assert_string_equal(m.v[0].name, "3");
	assert_true(at_mark("3", rows, MW_MARKS_BYTES) == 3);
	assert_true(at_mark("66", rows, MW_MARKS_BYTES) == 66);
	/* one that takes another's place needs none of the others' */
	assert_int_equal(mark("30"), 0);
	assert_int_equal(m.n, MW_MARKS_MAX);
	assert_int_equal(m.gone, 3);
	assert_string_equal(m.v[m.n - 1].name, "30");
	assert_true(at_mark("29", rows, MW_MARKS_BYTES) == 29 && at_mark("31", rows, MW_MARKS_BYTES) == 31);
}

TEST(without_memory_the_oldest_go)
{
	char name[8];
	int i;

	slabs_left = 5;
	fill(ROWS);
	for (i = 0; i < 300; i++) {
		for (size_t k = 0; k < ROWS; k++)
			numbers(&rows[k], chance(1 << 30), chance(1 << 30), chance(1 << 30),
				chance(1 << 30));
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mark(name), 0);
	}
	assert_true(m.n > 5 && m.n < MW_MARKS_MAX);
	assert_int_equal(m.n + m.gone, 300);
	assert_string_equal(m.v[m.n - 1].name, "299");
	assert_true(mw_marks_bytes(&m) <= 5 * MW_MARKS_SLAB);
	/* other locations: those of before may have to go with their marks */
	for (i = 0; i < 20; i++) {
		for (size_t k = 0; k < ROWS; k++) {
			char text[NAME];

			snprintf(text, sizeof(text), "(eval %d):%zu", i, k);
			numbers(row(k, text, MW_KIND_RUBY, k), 1, 1, 1, 0);
		}
		snprintf(name, sizeof(name), "eval%d", i);
		assert_int_equal(mark(name), 0);
		assert_true(at_mark(name, &rows[7], MW_MARKS_BYTES) == 1);
		assert_true(mw_marks_bytes(&m) <= 5 * MW_MARKS_SLAB);
	}
	assert_int_equal(slabs_n, 5);
}

TEST(without_any_memory_there_is_none)
{
	fill(ROWS);
	for (size_t slabs_max = 0; slabs_max < 2; slabs_max++) {
		slabs_left = slabs_max;
		assert_int_equal(mark("a"), -1);
		assert_int_equal(m.n, 0);
		assert_true(mw_marks_bytes(&m) == 0);
		assert_null(mw_marks_find(&m, "a", 1));
	}
	slabs_left = 9;
	assert_int_equal(mark("a"), 0);
	/* the name of before is gone if there is no room for the new one */
	rows[0].live_bytes++;
	assert_int_equal(mark("a"), 0);
	assert_int_equal(m.n, 1);
}

/* Code that is evaluated under ever new names: its places go with the marks that have them. */
TEST(places_that_no_mark_needs_go)
{
	char name[8];

	slabs_left = 16;
	for (int i = 0; i < 300; i++) {
		for (size_t k = 0; k < ROWS; k++) {
			char text[NAME];

			snprintf(text, sizeof(text), k < 50 ? "/stays.rb:%zu" : "(eval):%zu:%d", k, i);
			numbers(row(k, text, MW_KIND_RUBY, k), (uint64_t)i + 1, k + 1, (uint64_t)i * 7, 0);
		}
		table.n = ROWS;
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mark(name), 0);
		if (i >= 3) {
			snprintf(name, sizeof(name), "%d", i - 3);
			assert_true(mw_marks_remove(&m, &api, name));
		}
		for (int k = i < 2 ? 0 : i - 2; k <= i; k++) {
			snprintf(name, sizeof(name), "%d", k);
			assert_true(at_mark(name, &rows[7], MW_MARKS_BYTES) == (uint64_t)k + 1);
			assert_true(at_mark(name, &rows[7], MW_MARKS_ALLOCATIONS) == (uint64_t)k * 7);
			assert_true(at_mark(name, &rows[77], MW_MARKS_BLOCKS) == (k == i ? 78 : 0));
		}
	}
	assert_int_equal(m.gone, 0);
	assert_int_equal(m.n, 3);
	assert_true(m.places < 10 * ROWS);
	/* with the last mark all of it is free */
	while (m.n)
		assert_true(mw_marks_remove(&m, &api, m.v[0].name));
	assert_true(mw_marks_bytes(&m) == 0);
}

/* In a forked child: no marks, and the same memory. */
TEST(begins_anew)
{
	size_t had;

	fill(ROWS);
	assert_int_equal(mark("a"), 0);
	had = slabs_n;
	mw_marks_start(&m);
	assert_int_equal(m.n, 0);
	assert_true(mw_marks_bytes(&m) == 0);
	assert_int_equal(mark("b"), 0);
	assert_true(at_mark("b", &rows[3], MW_MARKS_BYTES) == rows[3].live_bytes);
	assert_int_equal(slabs_n, had);
}

/* 32 of 8,402 rows change: the mark before costs a page, not a copy. */
TEST(a_mark_costs_what_changed)
{
	enum { MANY = 8402 };
	struct mw_row *many = calloc(MANY, sizeof(*many));
	struct mw_snapshot s = { .n = MANY, .rows = many };
	struct mw_moment moment = { 0 };
	char(*names)[NAME] = calloc(MANY, NAME);
	uint64_t full, from, ns;

	for (size_t i = 0; i < MANY; i++) {
		int n = snprintf(names[i], NAME, "/usr/lib/ruby/gems/thing-1.%zu/part.rb:%zu", i % 99, i);

		many[i] = (struct mw_row){ .location = names[i],
					   .location_len = (uint32_t)n,
					   .kind = MW_KIND_RUBY,
					   .live_bytes = chance(1 << 20),
					   .live = chance(1 << 10),
					   .allocations = chance(1 << 20) };
	}
	from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(mw_marks_add(&m, &api, "first", &moment, &s), 0);
	ns = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	full = mw_marks_bytes(&m);
	for (size_t i = 0; i < 32; i++) {
		many[i * 200].live_bytes += 40 * 600;
		many[i * 200].live += 600;
		many[i * 200].allocations += 1200;
		many[i * 200].frees += 600;
	}
	from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(mw_marks_add(&m, &api, "second", &moment, &s), 0);
	print_message("# %d rows: %" PRIu64 " bytes in %" PRIu64 " us; 32 changed: %" PRIu32
		      " bytes in %" PRIu64 " us\n",
		      MANY, full, ns / 1000, m.v[0].changes.bytes,
		      (mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / 1000);
	assert_true(full < MANY * 150);
	assert_true(mw_marks_bytes(&m) - full == MW_MARKS_PAGE);
	assert_true(m.v[0].changes.bytes < 32 * 16);
	free(many);
	free(names);
}
