/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proofs of a growth (held.h), the choice of the verdict (steady.h), and the names of owners. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/pages/suspects.h"
#include "../../src/server/verdict/held.h"
#include "../../src/server/verdict/steady.h"

#define KIB 1024.0
#define UNKNOWN __builtin_nan("")

static struct mw_helds helds;

static void setup(void)
{
	mw_helds_free(&helds);
}

EACH(setup, NULL);

/* Bytes in KiB. */
static struct mw_held *proof(double t, unsigned kept, unsigned garbage, unsigned lost)
{
	char name[] = "/app/a.rb:1";
	const struct mw_held h = { .t = t,
				   .location = name,
				   .len = sizeof(name) - 1,
				   .kept = kept * 1024ull,
				   .garbage = garbage * 1024ull,
				   .lost = lost * 1024ull,
				   .old_t = UNKNOWN };

	assert_true(mw_helds_add(&helds, &h));
	return &helds.v[(helds.n - 1) % MW_HELDS];
}

static double share(double since, double then)
{
	return mw_held_share(&helds, "/app/a.rb:1", 11, since, then * KIB);
}

static bool rises(double since, struct mw_held_rise *rise)
{
	return mw_held_rises(&helds, "/app/a.rb:1", 11, since, rise);
}

TEST(nothing_is_known)
{
	assert_true(share(0, 0) != share(0, 0));
	assert_true(mw_held_share(NULL, "x", 1, 0, 0) != 0);
	proof(100, 1000, 0, 0);
	assert_true(share(200, 0) != share(200, 0));     /* it began later */
	assert_true(share(0, 990) != share(0, 990));     /* it hardly grew */
	assert_null(mw_held_last(&helds, "/app/a.rb:12", 12));
}

TEST(the_heap_at_two_times)
{
	struct mw_held_heap a = { .t = -1 }, b = a;

	assert_false(mw_held_heaps(NULL, 0, &a, &b));
	assert_false(mw_held_heaps(&helds, 0, &a, &b));
	mw_helds_add_heap(&helds, 100, 7);
	mw_helds_add_heap(&helds, 100, 8); /* no later: dropped */
	mw_helds_add_heap(&helds, 150, 9);
	assert_false(mw_held_heaps(&helds, 0, &a, &b)); /* too near to each other */
	assert_true(a.t < 0 && b.t < 0);
	mw_helds_add_heap(&helds, 300, 20);
	assert_true(mw_held_heaps(&helds, 0, &a, &b));
	assert_true(a.t == 100 && a.bytes == 7 && b.t == 300 && b.bytes == 20);
	assert_true(mw_held_heaps(&helds, 101, &a, &b));
	assert_true(a.t == 150 && a.bytes == 9);
	assert_false(mw_held_heaps(&helds, 301, &a, &b));
	/* a long time: the first are thinned out, and the last is there */
	for (int i = 1; i <= 10 * MW_HELD_HEAPS; i++)
		mw_helds_add_heap(&helds, 300 * (1 + i), (uint64_t)i);
	assert_true(helds.heaps_n <= MW_HELD_HEAPS && helds.heaps_n >= MW_HELD_HEAPS / 2);
	assert_true(mw_held_heaps(&helds, 0, &a, &b));
	assert_true(b.t == 300 * (1 + 10 * MW_HELD_HEAPS) && b.bytes == 10 * MW_HELD_HEAPS);
	assert_true(a.t < b.t / 2);
}

TEST(one_proof)
{
	proof(100, 1000, 0, 0);
	assert_true(share(0, 0) == 1);
	proof(110, 0, 1000, 0);
	assert_true(share(0, 0) == 0);
	proof(120, 100, 0, 900); /* lost stays, too */
	assert_true(share(0, 0) == 1);
	proof(130, 600, 400, 0);
	assert_true(share(0, 200) == 0.5);
	assert_true(share(0, 600) == 0); /* what it had before is kept */
}

/* A cache that is full: of what lived some minutes ago little is kept, though it keeps much now. */
TEST(what_is_old)
{
	struct mw_held *h = proof(100, 600, 400, 0);

	h->old_t = 50;
	h->old_bytes = 500 * KIB;
	h->old_kept = 0;
	assert_true(share(0, 0) == 0);
	h->old_kept = 450 * KIB;
	assert_true(share(0, 0) == 0.6);
	assert_true(share(60, 0) == 0.6); /* it began after that */
	h->kept = 1000 * 1024; /* one block that grows is young each time */
	h->garbage = 0;
	h->old_kept = 0;
	assert_true(share(0, 0) == 1);
}

TEST(two_proofs)
{
	proof(100, 600, 400, 0);
	proof(150, 600, 800, 0); /* too near */
	assert_true(share(0, 0) > 0.4);
	proof(400, 600, 2400, 0);
	assert_true(share(0, 0) == 0);
	proof(700, 3600, 400, 0);
	assert_true(share(0, 0) == 1);
	proof(1000, 1000, 3000, 0);
	assert_true(share(0, 0) == 0);
	proof(1300, 3500, 500, 0); /* what is kept took garbage's place */
	assert_true(share(0, 0) == 1);
}

/* Garbage comes and goes between two proofs. Over three of them what is kept shows, if it still rises. */
TEST(three_proofs_beside_garbage)
{
	struct mw_held_rise rise;

	proof(100, 600, 400, 0);
	proof(400, 1600, 400, 0);
	proof(700, 2600, 4400, 0);
	assert_true(share(0, 0) > 0.3 && share(0, 0) < 0.4);
	assert_true(share(200, 0) == 0.2); /* two of them */
	proof(1000, 3600, 900, 0);
	assert_true(share(0, 0) > 0.8);
	assert_true(rises(0, &rise) && rise.from == 100 && rise.to == 1000);
	assert_true(rise.gain == 3000 * KIB && rise.stays == 3600 * KIB);
	assert_true(rises(400, &rise) && rise.from == 400);
	rise.from = -1;
	assert_true(!rises(500, &rise) && rise.from < 0); /* two of them */
	assert_false(rises(2000, &rise));
	proof(1300, 3900, 3900, 0); /* by less than half as much */
	assert_true(share(0, 0) < 0.1);
	assert_false(rises(0, &rise));
	assert_false(mw_held_rises(NULL, "x", 1, 0, &rise));
}

/* Of what came between two proofs much is kept, but what lived then is not. */
TEST(what_is_old_of_two_proofs)
{
	struct mw_held *h;

	proof(100, 600, 0, 0);
	h = proof(400, 1800, 900, 0);
	assert_true(share(0, 0) > 0.4);
	h->old_t = 200;
	h->old_bytes = 1000 * KIB;
	h->old_kept = 100 * KIB;
	assert_true(share(0, 0) == 0.1);
}

static bool turns_over(void)
{
	return mw_held_turns_over(&helds, "/app/a.rb:1", 11);
}

/* A cache lets go of what it kept, a leak doesn't; what a leak has beside a cache grows. */
TEST(what_turns_over)
{
	struct mw_held *h;

	assert_false(turns_over());
	h = proof(100, 1000, 0, 0);
	h->old_t = 50;
	h->old_kept = 500 * KIB;
	h = proof(700, 1800, 900, 0);
	h->blocks = 100;
	assert_false(turns_over()); /* what is old isn't known */
	h->old_t = 90;
	h->old_kept = 400 * KIB;
	assert_false(turns_over()); /* it is older than the proof before */
	h->old_t = 150;
	assert_true(turns_over());
	assert_true(share(0, 0) == 0);
	h->old_kept = 1000 * KIB;
	assert_false(turns_over());
	helds.v[0].old_kept = 200 * KIB;
	h->old_kept = 450 * KIB; /* what is older than both grows */
	assert_false(turns_over());
	helds.v[0].old_kept = 500 * KIB;
	h->blocks = 1; /* a block that grows is young again and again */
	assert_false(turns_over());
}

static double rate(double apart)
{
	return mw_held_rate(&helds, "/app/a.rb:1", 11, apart);
}

/* Kept memory rises no more, though garbage does: a cache is full. */
TEST(what_is_kept_from_proof_to_proof)
{
	assert_true(rate(0) != rate(0));
	proof(100, 1000, 0, 0);
	assert_true(rate(0) != rate(0));
	proof(400, 4000, 0, 600);
	assert_true(rate(0) == 12 * KIB);
	assert_true(rate(301) != rate(301));
	proof(700, 4600, 9000, 0);
	assert_true(rate(0) == 0);
	assert_true(rate(301) == 6 * KIB);
	proof(710, 4600, 9000, 0); /* too near to the one before */
	assert_true(rate(0) == 0);
}

TEST(a_part_of_all)
{
	assert_true(mw_held_part(NULL) != mw_held_part(NULL));
	assert_true(mw_held_part(proof(1, 0, 0, 0)) != mw_held_part(proof(1, 0, 0, 0)));
	assert_true(mw_held_part(proof(1, 300, 500, 200)) == 0.5);
}

TEST(the_ring_forgets_the_oldest)
{
	for (int i = 0; i < 3 * MW_HELDS; i++)
		proof(i, 1000 + (unsigned)i, 0, 0);
	assert_true(mw_held_last(&helds, "/app/a.rb:1", 11)->t == 3 * MW_HELDS - 1);
	assert_int_equal(helds.n, 3 * MW_HELDS);
}

/* --- which verdict is told --------------------------------------------------------------- */

static struct mw_so_far so_far;

static bool tells(struct mw_steady *s, enum mw_verdict_kind kind, double now)
{
	const struct mw_verdict v = { .kind = kind, .growing = mw_verdict_grows(kind) };

	return mw_steady_tells(s, &v, now, &so_far);
}

TEST(another_view_of_the_same_waits_for_three_minutes)
{
	struct mw_steady s = { 0 };

	assert_true(tells(&s, MW_VERDICT_FLAT, 100));
	assert_true(tells(&s, MW_VERDICT_FLAT, 105));
	assert_false(tells(&s, MW_VERDICT_SAWTOOTH, 110));
	assert_true(tells(&s, MW_VERDICT_FLAT, 115)); /* it came back */
	assert_false(tells(&s, MW_VERDICT_SAWTOOTH, 120));
	assert_false(tells(&s, MW_VERDICT_FALLS, 140)); /* yet another one */
	so_far.majors++;
	assert_false(tells(&s, MW_VERDICT_SAWTOOTH, 100 + MW_STEADY_SECONDS - 1));
	/* the sentence told hasn't been true for as long, also with other kinds in its place */
	assert_true(tells(&s, MW_VERDICT_SAWTOOTH, 100 + MW_STEADY_SECONDS));
	/* three minutes are over, and it differs only now */
	assert_false(tells(&s, MW_VERDICT_FLAT, 1000));
	assert_true(tells(&s, MW_VERDICT_FLAT, 1000 + MW_DIFFERS_SECONDS));
}

TEST(what_is_denied_waits_for_less)
{
	struct mw_steady s = { 0 };

	assert_true(tells(&s, MW_VERDICT_FLAT, 0));
	assert_false(tells(&s, MW_VERDICT_GROWS, 10));
	assert_true(tells(&s, MW_VERDICT_GROWS, 10 + MW_DIFFERS_SECONDS));
	assert_false(tells(&s, MW_VERDICT_FLAT, 100));
	so_far.majors++;
	assert_true(tells(&s, MW_VERDICT_FLAT, 105)); /* a collection has freed it */
	so_far.majors++;
	assert_false(tells(&s, MW_VERDICT_FALLS, 110));
}

TEST(the_end_of_a_start_is_told_soon)
{
	struct mw_steady s = { 0 };

	assert_true(tells(&s, MW_VERDICT_WARMING, 30));
	assert_false(tells(&s, MW_VERDICT_FILLED, 40));
	assert_true(tells(&s, MW_VERDICT_WARMING, 45));
	assert_false(tells(&s, MW_VERDICT_FILLED, 50));
	assert_true(tells(&s, MW_VERDICT_FILLED, 50 + MW_STARTED_SECONDS));
	assert_false(tells(&s, MW_VERDICT_FALLS, 50 + 2 * MW_STARTED_SECONDS));
}

TEST(what_cant_wait)
{
	struct mw_steady s = { 0 };

	assert_true(tells(&s, MW_VERDICT_WATCHING, 0));
	assert_true(tells(&s, MW_VERDICT_FLAT, 1));
	assert_true(tells(&s, MW_VERDICT_EXPLODES, 2));
	assert_true(tells(&s, MW_VERDICT_FLAT, 3));
	so_far.proofs++;
	assert_true(tells(&s, MW_VERDICT_UNCOLLECTED, 4));
	assert_true(tells(&s, MW_VERDICT_PAUSED, 5));
	assert_true(tells(&s, MW_VERDICT_WARMING, 6));
	so_far.events++;
	assert_true(tells(&s, MW_VERDICT_FLAT, 7));
	assert_false(tells(&s, MW_VERDICT_SAWTOOTH, 8));
}

/* A line that grew by 10 KB a second for 400 s, and after that by so much. Is the accusation taken back at once? */
static bool taken_back(double rate_then, double fell)
{
	enum { N = 61, STEP = 10, STOPS = 400 };
	struct mw_point points[N] = { 0 };
	uint32_t t[N];
	uint64_t bytes[N], rest[N] = { 0 };
	char name[] = "/app/a.rb:1";
	struct mw_curve curve = {
		.location = name, .location_len = sizeof(name) - 1, .file_len = 9, .n = N, .t = t, .bytes = bytes
	};
	struct mw_curve_set set = { .n = 1, .v = &curve, .rest_n = N, .rest_t = t, .rest_bytes = rest };
	struct mw_accused told = { .part = MW_PART_LIVE, .rate = 10 * KIB, .len = sizeof(name) - 1 };
	struct mw_evidence e = { .no_proof = "there is no process",
				 .scales_n = 1,
				 .scales = { { 0, (N - 1) * STEP, points, N, &set } },
				 .accused = &told };
	struct mw_verdict v;

	memcpy(told.location, name, sizeof(name) - 1);
	for (int i = 0; i < N; i++) {
		double after = i * STEP > STOPS ? i * STEP - STOPS : 0;
		uint32_t kib =
			(uint32_t)(10 * (i * STEP - after) + rate_then * after - (after > 0 ? fell : 0));

		t[i] = (uint32_t)(i * STEP);
		bytes[i] = kib * 1024ull;
		points[i] = (struct mw_point){
			.t = t[i],
			.rss = 60000,
			.live = kib,
			.heap = MW_KIB_UNKNOWN,
			.free = MW_KIB_UNKNOWN,
			.anon = MW_KIB_UNKNOWN,
			.files = MW_KIB_UNKNOWN,
			.stacks = MW_KIB_UNKNOWN,
			.majors = MW_KIB_UNKNOWN,
			.threads = MW_KIB_UNKNOWN,
			.fds = MW_KIB_UNKNOWN
		};
	}
	assert_int_equal(mw_verdict_make(&v, &e), 0);
	return v.at_once && !v.growing;
}

TEST(an_accusation_is_taken_back)
{
	assert_true(taken_back(0, 0)); /* it has stopped */
	assert_true(taken_back(0, 2000)); /* it fell */
	assert_false(taken_back(10, 0)); /* it goes on */
}

/* --- owners ------------------------------------------------------------------------------ */

TEST(names_of_owners)
{
	static const struct {
		const char *path[6], *name;
	} all[] = {
		{ { "vm", "Object::A", "Array" }, "A, an Array" },
		{ { "vm", "Object::Audit", "Audit::LOG", "Array" }, "Audit::LOG, an Array" },
		{ { "vm", "Object::App", "App.@cache", "Hash", "String" }, "App.@cache, a Hash" },
		{ { "vm", "Object::APP", "Server.@pool", "Pool.@idle", "Array" },
		  "APP \xe2\x86\x92 @pool \xe2\x86\x92 @idle, an Array" },
		{ { "vm", "Object::Store", "Store::@@all", "Hash" }, "Store::@@all, a Hash" },
		{ { "vm", "Ractor", "Thread[:requests]", "Array" }, "Thread[:requests], an Array" },
		{ { "vm", "Ractor", "Thread" }, "threads that live" },
		{ { "vm", "Ractor", "Thread", "Array" }, "a variable of a Thread, an Array" },
		{ { "vm", "Ractor", "Thread", "Fiber", "Array" }, "a variable of a Thread, an Array" },
		{ { "vm", "Ractor", "Thread", "Fiber" }, "a variable of a Thread, a Fiber" },
		{ { "vm", "RubyVM" }, "tables of Ruby's own" },
		{ { "libvips.so.42" }, "libvips.so.42" },
		{ { "vm", "(symbols)", "Array" }, "vm \xe2\x86\x92 (symbols) \xe2\x86\x92 Array" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct mw_holder h = { .path = (const char **)(uintptr_t)all[i].path, .holder = "String" };
		char name[MW_HELD_OWNER], little[8];

		while (h.n_path < 6 && h.path[h.n_path])
			h.n_path++;
		mw_owner_name(&h, name, sizeof(name));
		assert_string_equal(name, all[i].name);
		mw_owner_name(&h, little, sizeof(little)); /* it is cut */
		assert_true(strlen(little) < sizeof(little));
	}
}
