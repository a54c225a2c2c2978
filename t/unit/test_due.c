/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a report is due: each moment, how often, and how soon the next look is. */
/* uses: src/server/reports/due.c */
#include "unit.h"
#include <math.h>
#include "../../src/server/reports/due.h"

#define MB (UINT64_C(1) << 20)

static struct mw_options o;
static struct mw_report_due due;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	due = (struct mw_report_due){ 0 };
	o.report_every = 600;
}

EACH(setup, NULL);

static void moment(enum mw_report_cause cause, uint64_t value)
{
	o.report_at[o.report_at_n++] = (struct mw_report_at){ .cause = cause, .value = value };
}

static struct mw_report_facts facts(double now)
{
	return (struct mw_report_facts){ .now = now, .grows = NAN };
}

static int look(const struct mw_report_facts *f)
{
	return mw_report_is_due(&due, &o, f);
}

TEST(a_share_of_the_limit)
{
	struct mw_report_facts f = facts(10);

	moment(MW_REPORT_SHARE, 90);
	assert_int_equal(look(&f), -1); /* no limit is known */
	f.limit_known = true;
	f.limit = 100 * MB;
	f.used = 90 * MB - 1;
	assert_int_equal(look(&f), -1);
	f.used++;
	assert_int_equal(look(&f), 0);
}

TEST(rss_and_what_is_not_known)
{
	struct mw_report_facts f = facts(10);

	moment(MW_REPORT_RSS, 100 * MB);
	f.rss = 100 * MB;
	assert_int_equal(look(&f), -1);
	f.rss_known = true;
	assert_int_equal(look(&f), 0);
	f.rss--;
	assert_int_equal(look(&f), -1);
}

TEST(growth_for_five_minutes)
{
	struct mw_report_facts f = facts(1000);

	moment(MW_REPORT_GROWTH, 0);
	assert_int_equal(look(&f), -1);
	f.grows = 299;
	assert_int_equal(look(&f), -1);
	f.grows = 300;
	assert_int_equal(look(&f), 0);
}

TEST(an_oom_counts_once_and_not_those_from_before)
{
	struct mw_report_facts f = facts(10);

	moment(MW_REPORT_OOM, 0);
	f.ooms_known = true;
	f.ooms = 7;
	assert_int_equal(look(&f), -1);
	f.ooms = 8;
	assert_int_equal(look(&f), 0);
	assert_int_equal(look(&f), 0); /* it wasn't written yet */
	mw_report_was(&due, &o, 0, 10, true);
	f.now = 11;
	assert_int_equal(look(&f), -1);
	f.now = 700; /* the same kill is no news */
	assert_int_equal(look(&f), -1);
	f.pressed = true;
	assert_int_equal(look(&f), 0);
}

TEST(each_has_its_own_ten_minutes)
{
	struct mw_report_facts f = facts(10);

	moment(MW_REPORT_RSS, 100 * MB);
	moment(MW_REPORT_RSS, 200 * MB);
	f.rss_known = true;
	f.rss = 150 * MB;
	assert_int_equal(look(&f), 0);
	mw_report_was(&due, &o, 0, f.now, true);
	assert_int_equal(look(&f), -1);
	f.rss = 250 * MB;
	assert_int_equal(look(&f), 1);
	mw_report_was(&due, &o, 1, f.now, true);
	f.now = 609.9;
	assert_int_equal(look(&f), -1);
	f.now = 610;
	assert_int_equal(look(&f), 0);
}

TEST(one_that_failed_is_tried_again_soon)
{
	struct mw_report_facts f = facts(10);

	moment(MW_REPORT_RSS, 1);
	f.rss_known = true;
	f.rss = 1;
	mw_report_was(&due, &o, 0, 10, false);
	f.now = 69;
	assert_int_equal(look(&f), -1);
	f.now = 70;
	assert_int_equal(look(&f), 0);
	o.report_every = 5;
	mw_report_was(&due, &o, 0, 70, false);
	f.now = 75;
	assert_int_equal(look(&f), 0);
}

TEST(somebody_who_asks_waits_for_no_moment)
{
	struct mw_report_facts f = facts(10);

	f.asked = true;
	assert_int_equal(look(&f), MW_REPORT_AT_MAX);
	mw_report_was(&due, &o, MW_REPORT_AT_MAX, 10, true);
	assert_int_equal(look(&f), MW_REPORT_AT_MAX);
}

TEST(looks_are_closer_near_the_limit)
{
	struct mw_report_facts f = facts(10);
	int before = 1 << 20, ms = 0;

	moment(MW_REPORT_SHARE, 90);
	f.limit_known = true;
	f.limit = 1000 * MB;
	for (int i = 0; i <= 9; i++, before = ms) {
		f.now = 10 + i;
		f.used = (uint64_t)i * 98 * MB;
		ms = mw_report_next_look(&due, &o, &f);
		assert_in_range(ms, 50, 500);
		assert_true(ms <= before);
	}
	assert_true(ms < 100); /* 98 MB a second, and 18 MB are left */
	f.now = 30; /* it stands still */
	assert_int_equal(mw_report_next_look(&due, &o, &f), 500);
}
