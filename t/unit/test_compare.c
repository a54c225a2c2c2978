/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's curve and slope, and which one of several siblings stands out. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/family/compare.h"
#include "../../src/server/history/history.h"
#include "../../src/server/report/self.h"

#define MB (1024.0 * 1024)

static struct mw_history h;
static struct mw_self self;

static void setup(void)
{
	memset(&h, 0, sizeof(h));
	memset(&self, 0, sizeof(self));
}

/* --- the curve ------------------------------------------------------------------- */

static void seconds(uint32_t from, uint32_t to, uint32_t live, uint32_t more)
{
	for (uint32_t t = from; t < to; t++)
		mw_history_add(&h, (struct mw_point){
					   .t = t, .rss = 2 * t, .live = live + (t - from) * more });
}

EACH(setup, NULL);

TEST(curves)
{
	struct mw_self later = { 0 };

	mw_self_curve(&self, &h);
	assert_int_equal(self.n, 0);
	seconds(7, 8, 100, 0);
	mw_self_curve(&self, &h);
	assert_int_equal(self.n, 1);
	assert_int_equal(self.v[0].t, 7);
	seconds(8, 3000, 100, 1);
	mw_self_curve(&self, &h);
	assert_true(self.n >= 45 && self.n <= MW_SELF_N);
	assert_int_equal(self.v[self.n - 1].t, 2999);
	assert_int_equal(self.v[self.n - 1].rss, 5998);
	assert_true(self.v[0].t >= 2999 - 900 && self.v[0].t < 2999 - 860);
	for (size_t i = 0; i + 1 < self.n; i++)
		assert_int_equal(self.v[i].t % MW_SELF_STEP, MW_SELF_STEP - 1);
	/* whatever second it is asked at */
	for (uint32_t t = 3000; t < 3100; t++) {
		seconds(t, t + 1, 5, 0);
		mw_self_curve(&later, &h);
		assert_true(later.n >= 45 && later.n <= MW_SELF_N);
		assert_int_equal(later.v[later.n - 1].t, t);
	}
	/* a process that was stopped: what is too old isn't there */
	seconds(9000, 9001, 5, 0);
	mw_self_curve(&later, &h);
	assert_int_equal(later.n, 1);
}

TEST(slopes)
{
	double slope;

	assert_false(mw_self_slope(&self, &slope));
	seconds(10, 80, 1000, 4);
	mw_self_curve(&self, &h);
	assert_false(mw_self_slope(&self, &slope)); /* not enough seen */
	seconds(80, 400, 1280, 4);
	mw_self_curve(&self, &h);
	assert_true(mw_self_slope(&self, &slope));
	assert_true(slope > 240 * 1024 - 1 && slope < 240 * 1024 + 1);
	/* one step isn't a slope */
	setup();
	seconds(10, 300, 1000, 0);
	seconds(300, 800, 90000, 0);
	mw_self_curve(&self, &h);
	assert_true(mw_self_slope(&self, &slope));
	assert_true(slope == 0);
	/* nor are teeth: each minute up by 60 MB, and down again */
	setup();
	for (uint32_t t = 0; t < 900; t++)
		seconds(t, t + 1, 100000 + t % 60 * 1000, 0);
	mw_self_curve(&self, &h);
	assert_true(mw_self_slope(&self, &slope));
	assert_true(slope < 3e6 && slope > -3e6); /* the teeth themselves rise by 60 MB a minute */
	/* unknown values don't count */
	setup();
	seconds(10, 500, MW_KIB_UNKNOWN, 0);
	mw_self_curve(&self, &h);
	assert_false(mw_self_slope(&self, &slope));
}

TEST(medians)
{
	double v[] = { 5, 1, 9, 2 };

	assert_true(mw_median(v, 0) == 0);
	assert_true(mw_median(v, 1) == 5);
	assert_true(mw_median(v, 3) == 5);
	assert_true(mw_median(v, 4) == 3.5);
}

/* --- siblings ---------------------------------------------------------------------- */

#define MAX 16
static struct mw_sibling p[MAX];

/* Siblings of 1 with that RSS in MB; which of them stand out, as bits. */
static unsigned by_rss(size_t n, const double *mb)
{
	unsigned out = 0;

	memset(p, 0, sizeof(p));
	for (size_t i = 0; i < n; i++)
		p[i] = (struct mw_sibling){ .forker = 1, .rss_known = true, .rss = mb[i] * MB };
	assert_int_equal(mw_find_outliers(p, n), 0);
	for (size_t i = 0; i < n; i++)
		out |= (unsigned)p[i].rss_out << i;
	return out;
}

#define RSS(...) by_rss(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), (double[]){ __VA_ARGS__ })

TEST(outliers_by_rss)
{
	assert_int_equal(RSS(100, 100, 150), 4);
	assert_int_equal(RSS(150, 100, 101, 99), 1);
	assert_int_equal(RSS(100, 101, 99, 100, 104), 0); /* within a tenth */
	assert_int_equal(RSS(20, 20, 20, 23), 0); /* within 4 MB */
	assert_int_equal(RSS(100, 130, 160, 190, 220), 0); /* they all differ that much */
	assert_int_equal(RSS(100, 100, 60), 0); /* less is no harm */
	assert_int_equal(RSS(100, 101, 99, 100, 300, 310), 48); /* two of six */
	assert_int_equal(RSS(100, 200), 0); /* of two, which one is unusual? */
	assert_int_equal(RSS(100), 0);
	assert_int_equal(RSS(0, 0, 0, 0), 0);
}

TEST(outliers_by_slope)
{
	memset(p, 0, sizeof(p));
	for (int i = 0; i < 4; i++)
		p[i] = (struct mw_sibling){
			.forker = 7, .slope_known = true, .live = 100 * MB, .slope = 1000 * i
		};
	p[2].slope = MB;
	assert_int_equal(mw_find_outliers(p, 4), 0);
	assert_true(p[2].slope_out && !p[2].rss_out);
	assert_false(p[0].slope_out || p[1].slope_out || p[3].slope_out);
	p[2].live = 2000 * MB; /* a large one, of which that is next to nothing */
	assert_int_equal(mw_find_outliers(p, 4), 0);
	assert_false(p[2].slope_out);
	p[2].live = 100 * MB;
	p[2].slope_known = false; /* three are left, all alike */
	assert_int_equal(mw_find_outliers(p, 4), 0);
	assert_false(p[0].slope_out || p[1].slope_out || p[2].slope_out || p[3].slope_out);
}

TEST(families_apart)
{
	assert_int_equal(RSS(100, 100, 100, 300, 300, 300), 0);
	for (int i = 0; i < 6; i++)
		p[i].forker = 1 + i / 3;
	p[5].rss = 400 * MB;
	assert_int_equal(mw_find_outliers(p, 6), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(p[i].rss_out, i == 5);
	/* those that were started by exec have nothing in common */
	for (int i = 0; i < 6; i++)
		p[i].forker = 0;
	assert_int_equal(mw_find_outliers(p, 6), 0);
	for (int i = 0; i < 6; i++)
		assert_false(p[i].rss_out);
	assert_int_equal(mw_find_outliers(p, 0), 0);
}
