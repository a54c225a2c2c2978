/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rank of a location's curve, mw_trend_rank: 48 readings of 20 s. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/verdict/trend.h"

enum { N = 48, STEP = 20, END = (N - 1) * STEP };

static double t[N], v[N];

#define RANK(of_i)                              \
	({                                      \
		for (int i = 0; i < N; i++) {   \
			t[i] = i * STEP;        \
			v[i] = of_i;            \
		}                               \
		mw_trend_rank(t, v, N, 0, END); \
	})

TEST(a_leak_by_what_it_grew)
{
	assert_float_equal(RANK(1e6 + 100.0 * i * STEP), 100.0 * END, 100.0 * END / 10);
	assert_float_equal(RANK(i ? 2e8 + 100.0 * i * STEP : 0), 100.0 * END, 100.0 * END / 10);
}

TEST(what_comes_and_goes_has_none)
{
	assert_float_equal(RANK(1e6 + i % 8 * 1e5), 0, 0);
	assert_float_equal(RANK(i % 21 * 1e5), 0, 0);
	/* a young process between two collections, as the demo's was */
	assert_float_equal(RANK(i < 8  ? 0 :
				i < 16 ? 7.1e6 :
				i < 24 ? 2.4e6 :
				i < 32 ? 5.6e6 :
					 6.8e6),
			   0, 0);
}

TEST(what_has_ended_has_none)
{
	assert_float_equal(RANK(i ? 2e8 : 0), 0, 0);
	assert_float_equal(RANK((i < 4 ? i : 4) * 1e6), 0, 0);
	assert_float_equal(RANK((i < 16 ? i : 16) * 1e6), 0, 0);
}

TEST(what_began_lately_has_some)
{
	assert_in_range((long)RANK((i > 24 ? i - 24 : 0) * 1e6), 10000000, 30000000);
}

TEST(a_fall_is_below_nothing)
{
	assert_true(RANK(1e8 - 1e6 * i) < -3e7);
	assert_float_equal(RANK(1e8), 0, 0);
	/* large boot data of which a little went stays above all that is small */
	assert_float_equal(RANK(3e7 - 1e3 * i), 0, 0);
}
