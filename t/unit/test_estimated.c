/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Curves of estimates: chance is held, a rise goes on, and a change of few samples names no location. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/verdict/estimated.h"

enum { N = 400, RATE = 512 << 10 };

static uint64_t seed;

static double unit(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* A number by chance whose mean this is: about Poisson's. */
static uint64_t about(double mean)
{
	uint64_t n = 0;

	for (double left = mean; left > 0; left -= 0.1)
		n += unit() < (left < 0.1 ? left : 0.1);
	return n;
}

/* A cache of so many samples' bytes, of which a hundredth is replaced at each step. */
static uint64_t cache(uint64_t n, double samples)
{
	uint64_t stay = 0;

	for (uint64_t i = 0; i < n; i++)
		stay += unit() >= 0.01;
	return stay + about(samples / 100);
}

static struct mw_curve_set set_of(struct mw_curve *c, uint64_t *v, uint32_t *t)
{
	for (uint32_t i = 0; i < N; i++)
		t[i] = i;
	*c = (struct mw_curve){ .n = N, .t = t, .bytes = v };
	return (struct mw_curve_set){ .n = 1, .v = c };
}

TEST(test_what_stays_is_flat)
{
	static const double samples[] = { 20, 100, 1000, 5000 };
	unsigned moved = 0;

	for (uint64_t round = 1; round <= 400; round++) {
		uint64_t v[N], n;
		uint32_t t[N];
		struct mw_curve c;
		struct mw_curve_set set = set_of(&c, v, t);

		seed = round;
		n = about(samples[round % 4]);
		for (int i = 0; i < N; i++) {
			n = cache(n, samples[round % 4]);
			v[i] = n * RATE;
		}
		mw_estimated_curves(&set, RATE);
		moved += set.n;
	}
	assert_in_range(moved, 0, 4);
}

TEST(test_a_leak_is_named)
{
	for (uint64_t round = 1; round <= 200; round++) {
		uint64_t v[N], n = 0;
		uint32_t t[N];
		struct mw_curve c;
		struct mw_curve_set set = set_of(&c, v, t);

		seed = round;
		for (int i = 0; i < N; i++)
			v[i] = (n += about(120. / N)) * RATE;
		mw_estimated_curves(&set, RATE);
		assert_int_equal(set.n, 1);
		assert_true(c.bytes[N - 1] > 60ull * RATE && c.bytes[N / 2] < c.bytes[N - 1] &&
			    c.bytes[N / 4] <= c.bytes[N / 2]);
	}
}

TEST(test_few_samples_name_nothing)
{
	uint64_t v[N];
	uint32_t t[N];
	struct mw_curve c;
	struct mw_curve_set set = set_of(&c, v, t);

	for (uint64_t i = 0; i < N; i++)
		v[i] = i * 20 * RATE / N;
	mw_estimated_curves(&set, RATE);
	assert_int_equal(set.n, 0);
}

TEST(test_points)
{
	struct mw_point p[4] = { { .live = 100 << 10 },
				 { .live = 101 << 10 },
				 { .live = MW_KIB_UNKNOWN },
				 { .live = 200 << 10 } };

	mw_estimated_points(p, 4, RATE);
	assert_int_equal(p[1].live, 100 << 10);
	assert_int_equal(p[2].live, MW_KIB_UNKNOWN);
	assert_int_equal(p[3].live, 200 << 10);
	mw_estimated_points(p, 0, RATE);
}
