/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Curves of locations: what is kept, the grids, the rest, too little memory, new tenants of an id. */
/* uses: @server */

enum { IDS = 12000 };
#include "unit.h"
#include "fake_curves.h"

/* Steps up to and at t, each second, from the one after the last call's. */
static void run(uint32_t to, void (*each)(uint32_t t))
{
	for (; now <= to; now++) {
		if (each)
			each(now);
		step();
	}
}

static const struct mw_curve *find(const struct mw_curve_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (!strcmp(set->v[i].location, name))
			return &set->v[i];
	return NULL;
}

static struct mw_curve_set set;
static const struct mw_curve *read_of(const char *name, double from, double to)
{
	mw_curves_free_set(&set);
	assert_int_equal(mw_curves_read(&c, &api, from, to, &set), 0);
	return find(&set, name);
}

/* The value that holds at t; -1: not known. */
static long long at(const struct mw_curve *curve, uint32_t t)
{
	long long v = -1;

	for (size_t i = 0; curve && i < curve->n && curve->t[i] <= t; i++)
		v = (long long)curve->bytes[i];
	return v;
}

static void one_leaks(uint32_t t)
{
	end = 3;
	sums[1].bytes = 64000;
	sums[2].bytes = (uint64_t)t * 6400;
}

static void end_all(void)
{
	mw_curves_free_set(&set);
	teardown();
}

EACH(setup, end_all);

TEST(a_curve_of_each)
{
	const struct mw_curve *k;

	run(100, one_leaks);
	k = read_of("f2:1", 0, 100);
	assert_non_null(k);
	assert_int_equal(k->n, 21);
	assert_int_equal(k->t[0], 0);
	assert_int_equal(k->t[20], 100);
	assert_int_equal(k->bytes[20], 640000);
	assert_int_equal(at(k, 51), 50 * 6400);
	assert_int_equal(k->id, 2);
	assert_int_equal(k->file_len, 3);
	assert_int_equal(at(find(&set, "f1:1"), 60), 64000);
	for (size_t i = 0; i < set.rest_n; i++)
		assert_int_equal(set.rest_bytes[i], 0);
	/* a part of it begins with the last point before */
	k = read_of("f2:1", 52, 62);
	assert_int_equal(k->t[0], 50);
	assert_int_equal(k->t[k->n - 1], 60);
}

static void many(uint32_t t)
{
	end = 10001;
	for (uint32_t id = 1; id < end; id++)
		sums[id].bytes = 640000 - id * 64;
	if (t > 200)
		sums[9999].bytes += (t - 200) * 1000;
}

TEST(the_largest_and_a_small_one_that_grows)
{
	const struct mw_curve *k;
	uint64_t all, total = 0;

	run(200, many);
	assert_non_null(read_of("f1:1", 0, 200));
	assert_non_null(find(&set, "f200:1"));
	assert_null(find(&set, "f9999:1"));
	assert_int_equal(set.n, MW_CURVES_N);
	/* within a minute it is among the kept ones, though its live bytes are among the least */
	run(262, many);
	k = read_of("f9999:1", 0, 262);
	assert_non_null(k);
	assert_true(k->t[0] > 200); /* before, it was among the rest */
	assert_non_null(find(&set, "f1:1"));
	/* kept ones and the rest are everything, at the last moment too */
	for (uint32_t id = 1; id < end; id++)
		total += sums[id].bytes;
	all = set.rest_bytes[set.rest_n - 1];
	for (size_t i = 0; i < set.n; i++)
		all += set.v[i].bytes[set.v[i].n - 1];
	assert_true(all + 3000 > total && all < total + 64 * MW_CURVES_N);
}

TEST(what_is_chosen_stays_chosen)
{
	unsigned before;

	run(130, many);
	before = snapshots;
	/* two neighbours in size take turns being the larger one: no new choice follows */
	for (uint32_t minute = 3; minute < 20; minute++) {
		sums[256].bytes = minute % 2 ? 630000 : 620000;
		sums[257].bytes = minute % 2 ? 620000 : 630000;
		run(minute * 60, NULL);
	}
	assert_true(snapshots <= before + 2);
	assert_non_null(read_of("f1:1", 0, now));
}

static void deploy(uint32_t t)
{
	one_leaks(t);
	if (t >= 300) {
		end = 4;
		sums[3].bytes = (t - 299) * 64;
	}
}

TEST(a_new_location_was_nothing_before)
{
	const struct mw_curve *k;

	run(400, deploy);
	k = read_of("f3:1", 0, 400);
	assert_non_null(k);
	assert_int_equal(at(k, 0), 0);
	assert_int_equal(at(k, 240), 0);
	assert_int_equal(at(k, 400), 101 * 64);
}

static void burst(uint32_t t)
{
	one_leaks(t);
	if (t >= 306) {
		end = 4;
		sums[3].bytes = (t - 305) * 6400000;
	}
}

/* ... and is known from the next step on, not only from the next choice. */
TEST(a_jump_is_at_its_line_at_once)
{
	const struct mw_curve *k;

	run(330, burst);
	k = read_of("f3:1", 0, 330);
	assert_non_null(k);
	assert_int_equal(at(k, 305), 0);
	assert_int_equal(at(k, 310), 5 * 6400000);
	assert_int_equal(at(k, 315), 10 * 6400000);
}

static void old_but_small(uint32_t t)
{
	many(t);
	sums[9000].bytes = 640 * 50 + (t > 3000 ? (t - 3000) * 6400ull : 0);
}

TEST(what_is_found_late_has_no_past)
{
	const struct mw_curve *k;

	run(3100, old_but_small);
	k = read_of("f9000:1", 0, 3100);
	assert_non_null(k);
	assert_true(k->t[0] > 2900);
	assert_true(k->bytes[0] > 0);
}

TEST(a_tenant_s_curve_is_not_its_successor_s)
{
	const struct mw_curve *k;

	run(100, one_leaks);
	/* retired, and its id is another's */
	snprintf(names[2], sizeof(names[2]), "new:7");
	sums[2].stamp = 5;
	sums[2].bytes = 999 * 64;
	run(200, NULL);
	k = read_of("f2:1", 0, 200);
	assert_non_null(k);
	assert_int_equal(k->id, MW_ID_NONE);
	assert_int_equal(at(k, 100), 640000);
	assert_int_equal(at(k, 200), 0);
	k = find(&set, "new:7");
	assert_non_null(k);
	assert_int_equal(at(k, 200), 999 * 64);
	assert_int_equal(at(k, 90), 0);
	/* the first one comes back with another id */
	end = 5;
	snprintf(names[4], sizeof(names[4]), "f2:1");
	sums[4] = (struct mw_live_sum){ .bytes = 128, .stamp = 6 };
	run(300, NULL);
	k = read_of("f2:1", 0, 300);
	assert_int_equal(k->id, 4);
	assert_int_equal(at(k, 100), 640000);
	assert_int_equal(at(k, 300), 128);
	assert_int_equal(set.n, 3);
}

/* The snapshot is taken later than the sums: its name may be another tenant's. */
static struct mw_snapshot *late_snapshot(void)
{
	snprintf(names[2], sizeof(names[2]), "wrong:1");
	sums[2].stamp++;
	return snapshot();
}

TEST(a_name_that_may_be_wrong_is_not_shown)
{
	struct mw_api late = api;

	late.snapshot = late_snapshot;
	one_leaks(50);
	mw_curves_second(&c, &late, 10);
	assert_null(read_of("wrong:1", 0, 10));
	late.snapshot = snapshot;
	snprintf(names[2], sizeof(names[2]), "right:1");
	mw_curves_second(&c, &late, 15);
	mw_curves_second(&c, &late, 20);
	assert_null(read_of("wrong:1", 0, 20));
	assert_non_null(find(&set, "right:1"));
}

TEST(the_grids)
{
	const struct mw_curve *k;
	struct mw_curve_set one;

	run(3 * 86400, one_leaks); /* three days */
	k = read_of("f2:1", now - 600, now);
	assert_int_equal(k->t[1] - k->t[0], 5);
	assert_true(k->n >= 120 && k->n <= 122);
	/* a quarter of an hour is all of the finest grid, which begins a little later than that */
	for (uint32_t more = 0; more < 5; more++) {
		run(now + more, one_leaks);
		assert_int_equal(mw_curves_read_one(&c, "f2:1", 4, now - 900, now, 500, &one), 0);
		assert_true(one.v[0].n >= 179 && one.v[0].t[0] < now - 890);
		mw_curves_free_set(&one);
	}
	k = read_of("f2:1", now - 7200, now);
	assert_int_equal(k->t[1] - k->t[0], 60);
	assert_true(k->t[0] <= now - 7200 && k->t[0] > now - 7200 - 60);
	assert_true(now - k->t[k->n - 1] <= 6); /* the newest value is there, too */
	k = read_of("f2:1", now - 80000, now);
	assert_true(k->n <= MW_CURVES_POINTS && k->n > MW_CURVES_POINTS / 2);
	k = read_of("f2:1", 0, now);
	assert_true(k->n <= MW_CURVES_POINTS && k->n > 130);
	assert_int_equal(k->t[0], 0);
	assert_int_equal(at(k, now), (now - 1) / 5 * 5 * 6400ull);
	for (size_t i = 1; i + 1 < k->n; i++) /* even, and what was true then */
		assert_true(k->t[i] > k->t[i - 1] &&
			    llabs((long long)k->bytes[i] - (long long)k->t[i] * 6400) < 64);
	assert_int_equal(mw_curves_read_one(&c, "f2:1", 4, 0, now, 500, &one), 0);
	assert_int_equal(one.n, 1);
	assert_int_equal(one.rest_n, 0);
	assert_true(one.v[0].n <= 500);
	mw_curves_free_set(&one);
	assert_int_equal(mw_curves_read_one(&c, "none", 4, 0, now, 500, &one), 0);
	assert_int_equal(one.n, 0);
	mw_curves_free_set(&one);
	assert_true(kept_bytes <= 3 << 20);
}

TEST(memory_comes_as_time_goes)
{
	run(10, one_leaks);
	assert_true(kept_bytes <= 240 << 10); /* a piece of each grid, and of the bases */
	run(86400, one_leaks);
	assert_true(kept_bytes > 1 << 20 && kept_bytes <= 3 << 20);
}

TEST(little_memory)
{
	keep_max = 260 << 10; /* a piece of each, and one more */
	run(2 * 86400, one_leaks);
	/* short rings, but right: */
	assert_int_equal(at(read_of("f2:1", now - 100, now), now), (now - 1) / 5 * 5 * 6400ull);
	assert_true(set.v[0].n > 20);
	assert_int_equal(at(read_of("f2:1", 0, now), 0), 0);
	assert_true(kept_bytes <= keep_max);
}

TEST(no_memory)
{
	keep_max = 0;
	run(1000, one_leaks);
	assert_null(read_of("f2:1", 0, 1000));
	assert_int_equal(set.n + set.rest_n, 0);
}

TEST(off)
{
	mw_curves_start(&c, &api, false, false);
	run(100, one_leaks);
	assert_int_equal(kept_bytes, 0);
	assert_null(read_of("f2:1", 0, 100));
}

TEST(a_child_begins_anew_in_the_same_memory)
{
	const struct mw_curve *k;
	size_t before;

	run(2000, one_leaks);
	before = kept_bytes;
	mw_curves_start(&c, &api, true, false);
	run(2100, one_leaks);
	assert_int_equal(kept_bytes, before);
	k = read_of("f2:1", 0, 2100);
	assert_true(k->t[0] > 2000);
	assert_int_equal(at(k, 2100), 2096 * 6400);
}

static char *json(double from, double to, size_t points)
{
	struct mw_buf b = { 0 };

	assert_int_equal(mw_curves_read(&c, &api, from, to, &set), 0);
	mw_curves_render(&b, &set, from, to, points);
	mw_buf_add(&b, "", 1);
	mw_curves_free_set(&set);
	return b.p;
}

TEST(rendered)
{
	char *s;

	now = 10;
	run(100, one_leaks);
	s = json(0, 100, 5);
	assert_string_equal(s, "\"from\":0,\"to\":100,\n\"t\":[0,25,50,75,100],\n\"rows\":[\n"
			       "[1,\"f1:1\",3,\"ruby\",[null,64000],0],\n"
			       "[2,\"f2:1\",3,\"ruby\",[null,160000,320000,480000,640000],560000]],\n"
			       "\"rest\":[null,0]");
	free(s);
	s = json(20, 21, 48);
	assert_string_equal(s, "\"from\":20,\"to\":21,\n\"t\":[20,21],\n\"rows\":[\n"
			       "[1,\"f1:1\",3,\"ruby\",[64000],null],\n"
			       "[2,\"f2:1\",3,\"ruby\",[128000],null]],\n\"rest\":[0]");
	free(s);
}
