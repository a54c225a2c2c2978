/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a growth reaches the memory limit, and how the sentence says it. */
/* uses: @server */
#include "unit.h"

#include "../../src/server/verdict/verdict.h"
#include "../../src/server/verdict/words.h"

#define MIB 1048576.0

static struct mw_history h;
static struct mw_limits l;
static struct mw_verdict v;
static struct mw_reach r;

/* RSS from 100 MiB on, which grows by `early` MiB a minute for ten minutes, then by `late` for ten. */
static void grow(double early, double late)
{
	double rss = 100 * MIB;

	memset(&h, 0, sizeof(h));
	for (uint32_t t = 1; t <= 1200; t++) {
		rss += (t <= 600 ? early : late) * MIB / 60;
		mw_history_add(&h, (struct mw_point){ .t = t, .rss = mw_kib((uint64_t)rss) });
	}
	v = (struct mw_verdict){ .kind = MW_VERDICT_GROWS, .growing = true, .since = 1, .to = 1200 };
}

static void limited(enum mw_limit_of of, double limit, double used)
{
	l = (struct mw_limits){ .of = of, .bytes = (uint64_t)(limit * MIB), .used = (uint64_t)(used * MIB) };
}

/* 2023-11-15 at 00:00 UTC is the end of the range. */
static void find(void)
{
	mw_reach_find(&r, &v, &l, &h, 1700006400.0 - 1200);
}

static void says(const char *want)
{
	struct mw_buf b = { 0 };

	find();
	mw_words_reach(&b, &r);
	mw_buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	mw_buf_free(&b);
}

TEST(an_even_rate_gives_one_time)
{
	grow(2, 2);
	limited(MW_LIMIT_MAX, 512, 392);
	says(" At this rate the container's limit of 512 MB is reached at 01:00 UTC.");
	limited(MW_LIMIT_V1, 512, 392);
	says(" At this rate the container's limit of 512 MB is reached at 01:00 UTC.");
	limited(MW_LIMIT_AS, 1024, 904);
	says(" At this rate the address space's limit (RLIMIT_AS) of 1.00 GB is reached at 01:00 UTC.");
	limited(MW_LIMIT_MACHINE, 8192, 8072);
	says(" At this rate the machine's memory of 8.00 GB is reached at 01:00 UTC.");
	limited(MW_LIMIT_HIGH, 256, 136);
	says(" At this rate the container's memory.high of 256 MB is reached at 01:00 UTC.");
}

TEST(an_uneven_rate_gives_a_range)
{
	grow(2, 4);
	limited(MW_LIMIT_MAX, 512, 392);
	says(" At this rate the container's limit of 512 MB is reached between 00:30 and 01:00 UTC.");
	grow(2, 0);
	says(" At this rate the container's limit of 512 MB is reached from 01:00 UTC on, if it goes on as fast.");
}

TEST(far_and_near)
{
	grow(2, 2);
	limited(MW_LIMIT_MAX, 102400, 102400 - 2 * 1440 * 3);
	says(" At this rate the container's limit of 100 GB is reached in about 3 days.");
	limited(MW_LIMIT_MAX, 102400, 102400 - 2 * 1440 * 8);
	says("");
	limited(MW_LIMIT_MAX, 512, 511);
	says(" At this rate the container's limit of 512 MB is reached within a minute.");
	limited(MW_LIMIT_MAX, 512, 600);
	says(" At this rate the container's limit of 512 MB is reached within a minute.");
}

TEST(nothing_is_said_without_growth)
{
	limited(MW_LIMIT_MAX, 512, 392);
	grow(0, 0);
	says("");
	grow(-2, -2);
	says("");
	grow(2, 2);
	v.growing = false;
	says("");
	grow(2, 2);
	v.to = 600; /* about the past */
	says("");
	grow(2, 2);
	l.of = MW_LIMIT_NONE;
	says("");
}

/* By chance: the time lies between what the fastest and the slowest of both rates give. */
TEST(rates_by_chance)
{
	srand((unsigned)unit_seed());
	for (int i = 0; i < 100; i++) {
		double a = 1 + rand() % 20, b = 1 + rand() % 20, left = 100 + rand() % 1000;

		grow(a, b);
		limited(MW_LIMIT_MAX, 4000, 4000 - left);
		find();
		assert_int_equal(r.of, MW_LIMIT_MAX);
		assert_true(r.soonest >= left / (a > b ? a : b) * 60 * 0.95);
		assert_true(r.soonest <= left / (a > b ? a : b) * 60 * 1.05);
		assert_true(r.latest >= left / (a < b ? a : b) * 60 * 0.95);
		assert_true(r.latest <= left / (a < b ? a : b) * 60 * 1.05);
	}
}
