/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of several processes as one: who inherited what, what is added up, what is the same place. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/family/family.h"
#include "fake_api.h"

enum { MAX = 40 };

static struct mw_wire wires[MAX];
static struct mw_part parts[MAX];
static size_t n;

static void teardown(void)
{
	mw_sum_end();
	while (n)
		mw_wire_free(&wires[--n]);
	memset(parts, 0, sizeof(parts));
}

/* The fake tracker's rows become the table of one more process; the tracker is empty then. */
static struct mw_wire *process(long pid, long forker)
{
	struct mw_wire *w = &wires[n];
	struct mw_buf b = { 0 };

	fake_stats.forker = forker;
	if (!fake_stats.eldest)
		fake_stats.eldest = forker;
	assert_true(n < MAX);
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_ALL, NULL, 0), 0);
	assert_int_equal(mw_wire_read(w, b.p, b.n), 0);
	assert_int_equal(fake_out, 0);
	w->pid = pid;
	parts[n++].wire = w;
	fake_clear();
	return w;
}

/* A process that inherited so much, in two locations. */
static void forked(long pid, long forker, uint64_t bytes)
{
	fake_row(MW_KIND_RUBY, 1000, "/a.rb:1")->fork_baseline.total = bytes / 2;
	fake_row(MW_KIND_RUBY, 1000, "/b.rb:1")->fork_baseline.total = bytes - bytes / 2;
	process(pid, forker);
}

/* '1' or '0' for each: whether it inherits. */
static void inherit(const char *want)
{
	char got[MAX + 1] = "";

	mw_inheritance(parts, n);
	for (size_t i = 0; i < n; i++)
		got[i] = parts[i].inherits ? '1' : '0';
	assert_string_equal(got, want);
}

EACH(fake_clear, teardown);

TEST(a_parent_is_there)
{
	forked(10, 0, 0);
	forked(11, 10, 300);
	forked(12, 10, 500);
	forked(13, 12, 700); /* a grandchild */
	inherit("0111");
}

/* Of brothers one keeps what all of them inherited: who knows most of it. */
TEST(a_parent_is_gone)
{
	forked(11, 10, 300);
	forked(12, 10, 500);
	forked(13, 10, 400);
	forked(21, 20, 1); /* another parent's */
	forked(31, 0, 0);
	inherit("10100");
}

/* Whoever forked them has gone, and the first one of the line, too, or not. */
TEST(forked_twice)
{
	fake_stats.eldest = 10;
	forked(12, 11, 500);
	fake_stats.eldest = 10;
	forked(14, 13, 400);
	inherit("01");
	forked(10, 0, 0);
	inherit("110");
}

TEST(brothers_that_know_as_much)
{
	forked(13, 10, 400);
	forked(11, 10, 400);
	forked(12, 10, 400);
	inherit("101");
	mw_inheritance(parts, 0);
}

/* Numbers that are taken again may say what cannot be. It ends, and says the same each time. */
TEST(circles_end)
{
	forked(10, 11, 400);
	forked(11, 10, 400);
	inherit("11");
	inherit("11");
	forked(12, 12, 1);
	inherit("111");
}

TEST(many_brothers)
{
	char want[MAX + 1];

	for (int i = 0; i < MAX; i++)
		forked(100 + i, 10, i == 17 ? UINT64_MAX : UINT64_MAX - 1);
	memset(want, '1', MAX);
	want[17] = '0';
	want[MAX] = '\0';
	inherit(want);
}

/* --- sums ------------------------------------------------------------------------- */

static const struct mw_api *api;
static const struct mw_snapshot *snap;

static void add_up(void)
{
	api = mw_sum_api(parts, n, &fake_api);
	assert_non_null(api);
	snap = api->snapshot();
	assert_non_null(snap);
	assert_true(snap->family);
	for (size_t i = 0; i < snap->n; i++) {
		assert_int_equal(snap->rows[i].id, i);
		assert_int_equal(snap->rows[i].location[snap->rows[i].location_len], 0);
		assert_int_equal(strlen(snap->rows[i].location), snap->rows[i].location_len);
		assert_true(snap->rows[i].file_len <= snap->rows[i].location_len);
	}
}

/* The row of exactly that name, of which there is one. */
static const struct mw_row *row(const char *location)
{
	const struct mw_row *found = NULL;

	for (size_t i = 0; i < snap->n; i++) {
		if (strcmp(snap->rows[i].location, location))
			continue;
		assert_null(found);
		found = &snap->rows[i];
	}
	if (!found)
		print_message("# no row: %s\n", location);
	assert_non_null(found);
	return found;
}

TEST(rows_by_location)
{
	fake_row(MW_KIND_RUBY, 10, "/a.rb:1")->life_max = 3;
	fake_row(MW_KIND_RUBY, 20, "/b.rb:1")->growth = -5;
	fake_row(MW_KIND_SPECIAL, 1, "(other)");
	process(1, 0);
	fake_row(MW_KIND_RUBY, 100, "/a.rb:1")->life_max = 2;
	fake_row(MW_KIND_RUBY, 200, "/b.rb:2");
	fake_row(MW_KIND_SPECIAL, 2, "(other)");
	process(2, 0);
	fake_row(MW_KIND_RUBY, 1000, "/a.rb:1");
	fake_row(MW_KIND_RUBY, 2000, "/b.rb:1");
	fake_row(MW_KIND_RUBY, 4000, "(other)"); /* a file of that name */
	process(3, 0);
	add_up();
	assert_int_equal(snap->n, 5);
	assert_int_equal(row("/a.rb:1")->total, 1110);
	assert_int_equal(row("/a.rb:1")->growth, 1110);
	assert_int_equal(row("/a.rb:1")->live, 3);
	assert_int_equal(row("/a.rb:1")->life_max, 3);
	assert_int_equal(row("/a.rb:1")->processes, 3);
	assert_int_equal(row("/b.rb:1")->total, 2020);
	assert_int_equal(row("/b.rb:1")->growth, 1995);
	assert_int_equal(row("/b.rb:1")->processes, 2);
	assert_int_equal(row("/b.rb:2")->total, 200);
	assert_int_equal(row("/b.rb:2")->processes, 1);
	for (size_t i = 0; i < snap->n; i++) {
		if (strcmp(snap->rows[i].location, "(other)"))
			continue;
		assert_int_equal(snap->rows[i].total, snap->rows[i].kind == MW_KIND_SPECIAL ? 3 : 4000);
	}
}

static void native(uint64_t total, const char *location, uint64_t at)
{
	fake_row(MW_KIND_NATIVE, total, location)->at = at;
}

/* Modules are mapped elsewhere in each, and not each knows the symbol. */
TEST(native_rows_by_offset)
{
	native(1, "/x.so(f+0x1) [0x7f01]", 0x101);
	native(10, "/x.so(f+0x2) [0x7f02]", 0x102);
	native(100, "/y.so(f+0x1) [0x7f03]", 0x101);
	fake_row(MW_KIND_NATIVE, 1000, "[0x1234]")->file_len = 0;
	process(1, 0);
	native(1, "/x.so(+0x101) [0x5501]", 0x101);
	native(10, "/x.so(f+0x2) [0x5502]", 0x102);
	fake_row(MW_KIND_NATIVE, 1000, "[0x1234]")->file_len = 0;
	fake_row(MW_KIND_NATIVE, 5000, "[0x1235]")->file_len = 0;
	process(2, 0);
	native(1, "/x.so(f+0x1)", 0x101); /* without an address */
	native(30, "/x.so(f+0x2)", 0x999); /* another place by the same name */
	process(3, 0);
	add_up();
	assert_int_equal(row("/x.so(f+0x1)")->total, 3);
	assert_int_equal(row("/x.so(f+0x1)")->processes, 3);
	assert_int_equal(row("/x.so(f+0x1)")->at, 0x101);
	assert_int_equal(row("/x.so(f+0x1)")->file_len, 5);
	assert_int_equal(row("/y.so(f+0x1)")->total, 100);
	assert_int_equal(row("[0x1234]")->total, 2000);
	assert_int_equal(row("[0x1235]")->total, 5000);
	assert_int_equal(snap->n, 6);
	for (size_t i = 0; i < snap->n; i++)
		if (!strcmp(snap->rows[i].location, "/x.so(f+0x2)"))
			assert_int_equal(snap->rows[i].total, snap->rows[i].at == 0x102 ? 20 : 30);
}

/* In any order of the processes: a symbol is shown if one of them knows it. */
TEST(a_known_symbol_is_shown)
{
	native(1, "/x.so(+0x101) [0x5501]", 0x101);
	process(1, 0);
	native(1, "/x.so(f+0x1) [0x7f01]", 0x101);
	process(2, 0);
	native(1, "/x.so(+0x101) [0x6601]", 0x101);
	process(3, 0);
	add_up();
	assert_int_equal(snap->n, 1);
	assert_int_equal(row("/x.so(f+0x1)")->processes, 3);
}

/* A module's path may look like an address; the file's name stays within the location. */
TEST(brackets_in_a_path)
{
	fake_row(MW_KIND_NATIVE, 1, "/l [0x1]/x.so")->at = 1;
	native(2, "/l [0x1]/y.so(f+0x1) [0x7f]", 1);
	native(4, "/l [0x1]/y.so(f+0x1)", 1);
	process(1, 0);
	add_up();
	assert_int_equal(snap->n, 2);
	assert_int_equal(row("/l [0x1]/x.so")->total, 1);
	assert_int_equal(row("/l [0x1]/y.so(f+0x1)")->total, 6);
}

/* The same tables can be added up once more, and look as they did. */
TEST(twice)
{
	native(1, "/x.so(f+0x1) [0x7f01]", 0x101);
	fake_row(MW_KIND_RUBY, 1, "/a.rb:1");
	process(1, 0);
	add_up();
	assert_ptr_equal(api->snapshot(), snap);
	add_up();
	assert_int_equal(row("/x.so(f+0x1)")->total, 1);
	mw_sum_end();
	mw_sum_end();
	add_up();
	assert_int_equal(row("/x.so(f+0x1)")->location_len, 12);
	assert_int_equal(snap->n, 2);
}

static void forked_counts(struct mw_row *r, uint64_t inherited)
{
	r->allocations = r->frees = r->freed = r->life_sum = r->total = 100;
	r->live = 7;
	r->live_bytes = 70;
	r->growth = 9;
	r->fork_baseline.total = inherited;
	r->fork_baseline.allocations = inherited + 1;
	r->fork_baseline.frees = inherited + 2;
	r->fork_baseline.freed = inherited + 3;
	r->fork_baseline.life_sum = inherited + 4;
}

/* Inherited counts are the parent's; a block that lives in both is in both. */
TEST(counted_once)
{
	struct mw_stats s;

	forked_counts(fake_row(MW_KIND_RUBY, 0, "/a.rb:1"), 0);
	process(10, 0);
	forked_counts(fake_row(MW_KIND_RUBY, 0, "/a.rb:1"), 80);
	process(11, 10);
	forked_counts(fake_row(MW_KIND_RUBY, 0, "/a.rb:1"), 1000); /* more than there is */
	process(12, 10);
	mw_inheritance(parts, n);
	add_up();
	assert_int_equal(snap->n, 1);
	assert_int_equal(snap->rows[0].total, 120);
	assert_int_equal(snap->rows[0].allocations, 119);
	assert_int_equal(snap->rows[0].frees, 118);
	assert_int_equal(snap->rows[0].freed, 117);
	assert_int_equal(snap->rows[0].life_sum, 116);
	assert_int_equal(snap->rows[0].live, 21);
	assert_int_equal(snap->rows[0].live_bytes, 210);
	assert_int_equal(snap->rows[0].growth, 27);
	api->stats(&s);
	assert_int_equal(s.total, 120);
	assert_int_equal(s.allocations, 119);
	assert_int_equal(s.frees, 118);
	assert_int_equal(s.freed, 117);
	assert_int_equal(s.live, 21);
	assert_int_equal(s.live_bytes, 210);
	assert_int_equal(s.processes, 3);
}

/* Sums stop at their type's largest value. */
TEST(overflow)
{
	struct mw_stats s;

	for (long pid = 1; pid <= 2; pid++) {
		struct mw_row *r = fake_row(MW_KIND_RUBY, UINT64_MAX - 1, "/a.rb:1");

		r->growth = INT64_MIN;
		r->live = r->frees = UINT64_MAX;
		r = fake_row(MW_KIND_RUBY, 1, "/b.rb:1");
		r->growth = INT64_MAX;
		memset(&fake_stats, 0, sizeof(fake_stats));
		fake_stats.locations = fake_stats.locations_max = fake_stats.retired = UINT64_MAX;
		fake_stats.tracker_bytes = fake_stats.lost = fake_stats.overruns = UINT64_MAX;
		fake_stats.double_frees = fake_stats.unknown_frees = UINT64_MAX;
		fake_stats.heap_bytes = fake_stats.resets = UINT64_MAX - 1;
		fake_stats.generation = UINT64_MAX;
		process(pid, 0);
	}
	add_up();
	assert_true(row("/a.rb:1")->total == UINT64_MAX);
	assert_true(row("/a.rb:1")->live == UINT64_MAX);
	assert_true(row("/a.rb:1")->frees == UINT64_MAX);
	assert_true(row("/a.rb:1")->growth == INT64_MIN);
	assert_true(row("/b.rb:1")->growth == INT64_MAX);
	api->stats(&s);
	assert_true(s.total == UINT64_MAX && s.live == UINT64_MAX && s.frees == UINT64_MAX);
	assert_true(s.locations == UINT64_MAX && s.locations_max == UINT64_MAX && s.retired == UINT64_MAX);
	assert_true(s.tracker_bytes == UINT64_MAX && s.lost == UINT64_MAX && s.overruns == UINT64_MAX);
	assert_true(s.double_frees == UINT64_MAX && s.unknown_frees == UINT64_MAX);
	assert_true(s.heap_bytes == UINT64_MAX && s.resets == UINT64_MAX && s.generation == UINT64_MAX);
}

/* clang-format off */
#define FIGURES(X)                                                              \
	X(locations, 1) X(locations_max, 10) X(retired, 100) X(lost, 5)         \
	X(tracker_bytes, 1000) X(overruns, 2) X(double_frees, 3)                \
	X(unknown_frees, 4) X(heap_bytes, 50) X(resets, 6)
/* clang-format on */

TEST(figures)
{
	struct mw_stats s;
	struct mw_row r;
#define X(f, v) .f = v,
	const struct mw_stats each = { FIGURES(X).life_unit = "gc" };
#undef X

	fake_stats = each;
	fake_stats.generation = 70;
	fake_stats.paused = true;
	fake_stats.ruby_lookup = "fast";
	process(1, 0);
	fake_stats = each;
	fake_stats.generation = 60;
	fake_stats.records_full = fake_stats.heap_known = fake_stats.sampled = true;
	fake_stats.sample_rate = 4096;
	process(2, 0);
	add_up();
	api->stats(&s);
#define X(f, v) assert_int_equal(s.f, 2 * (v));
	FIGURES(X)
#undef X
	assert_int_equal(s.generation, 70);
	assert_string_equal(s.life_unit, "gc");
	assert_true(s.paused && s.records_full && s.heap_known && !s.locations_full && !s.threads_full);
	assert_true(s.sampled);
	assert_int_equal(s.sample_rate, 4096);
	assert_int_equal(s.sampling, 1);
	assert_int_equal(s.total + s.live, 0);
	assert_int_equal(s.processes, 2);
	assert_int_equal(snap->n, 0);
	/* it changes nothing, and has nothing by itself */
	assert_false(api->find("/a.rb:1", 7, &r));
	assert_false(api->trim());
	assert_false(api->paused());
	api->reset();
	api->pause(true);
	assert_false(fake_stats.paused);
	assert_ptr_equal(api->options(), &fake_options);
	api->snapshot_free((struct mw_snapshot *)(uintptr_t)snap);
}

/* Ages become generations of the sum, and none of them is before the first. */
TEST(lives)
{
	const uint32_t id = 3;
	struct mw_lives *l;

	for (long pid = 1; pid <= 2; pid++) {
		struct mw_buf b = { 0 };

		fake_row(MW_KIND_RUBY, 5, "/a.rb:1");
		fake_lives[0] =
			(struct mw_live){ .addr = 64, .size = (uint64_t)pid, .generation = 1, .id = 0 };
		fake_lives_n = 1;
		fake_stats.generation = (uint64_t)pid * 10;
		assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_AT, "/a.rb:1", 7), 0);
		assert_int_equal(mw_wire_read(&wires[n], b.p, b.n), 0);
		parts[n].wire = &wires[n];
		n++;
		fake_clear();
	}
	wires[1].lives[0].generation = UINT64_MAX;
	add_up();
	l = api->lives(&id, 1);
	assert_non_null(l);
	assert_int_equal(l->n, 2);
	assert_int_equal(l->v[0].size, 1);
	assert_int_equal(l->v[0].generation, 20 - 9);
	assert_int_equal(l->v[0].id, 3);
	assert_int_equal(l->v[1].size, 2);
	assert_int_equal(l->v[1].generation, 0);
	api->lives_free(l);
	l = api->lives(NULL, 0);
	assert_int_equal(l->n, 2);
	api->lives_free(l);
}

/* A family without members has nothing. */
TEST(nobody)
{
	struct mw_stats s;
	struct mw_lives *l;

	add_up();
	assert_int_equal(snap->n, 0);
	api->stats(&s);
	assert_int_equal(s.processes + s.total + s.locations, 0);
	l = api->lives(NULL, 0);
	assert_int_equal(l->n, 0);
	api->lives_free(l);
}
