/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site's notes of each second: how often it reads live memory, and the verdict's sentence about it. */
/* uses: @server */

#include "unit.h"
#include "../../src/shared/sys/clock.h"
#include "../../src/server/pages/site.h"
#include "asked_routes.h"

#define MIB UINT64_C(1048576)

static struct mw_site site;
static unsigned work; /* ms of CPU time that a reading takes */
static unsigned readings;

static void slow_stats(struct mw_stats *s)
{
	uint64_t end = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + work * UINT64_C(1000000);

	while (work && mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	readings++;
	fake_get_stats(s);
}

static void begin(void)
{
	setup();
	work = 0;
	api.stats = slow_stats;
	memset(&site, 0, sizeof(site));
	mw_site_start(&site, &api);
	site.origin_ms -= 100; /* what a test takes is less than the rest of a second */
	readings = 0;
}

static void end(void)
{
	mw_site_end(&site);
	teardown();
}

/* n seconds pass, and take no time. Returns how often what is live was read. */
static unsigned pass(unsigned n)
{
	unsigned before = readings;

	while (n--) {
		site.origin_ms -= 1000;
		(void)mw_site_second(&site, NULL, NULL);
	}
	return readings - before;
}

static uint32_t live(void)
{
	return mw_history_last(&site.history)->live;
}

EACH(begin, end);

TEST(one_slow_reading_changes_nothing)
{
	for (int i = 0; i < 3; i++) {
		work = 5;
		assert_int_equal(pass(1), 1);
		work = 0;
		fake_stats.live_bytes += 7 * MIB;
		assert_int_equal(pass(5), 5);
		assert_int_equal(live(), (unsigned)(i + 1) * 7 * 1024);
	}
}

TEST(a_large_table_is_read_less_often)
{
	work = 2; /* 10 s */
	assert_in_range(pass(110), 8, 13);
	work = 15;
	pass(40);
	assert_in_range(pass(180), 2, 4); /* a minute at most */
	work = 0;
	pass(180);
	assert_int_equal(pass(10), 10);
}

TEST(a_forked_childs_first_readings_are_its_own)
{
	work = 15;
	pass(10);
	work = 0;
	mw_site_start(&site, &api);
	assert_int_equal(pass(5), 5);
}

static uint64_t live_now(const char *query)
{
	struct mw_request req = { .method = "GET",
				  .path = "/verdict.json",
				  .query = query,
				  .base = "",
				  .peer = MW_PEER_UNIX,
				  .header = header,
				  .site = &site };
	const char *at;

	mw_response_free(&res);
	mw_route(&api, &req, &res);
	assert_int_equal(res.status, 200);
	at = strstr(res.body.p, "\"live\":{\"now\":");
	assert_non_null(at);
	return strtoull(at + strlen("\"live\":{\"now\":"), NULL, 10);
}

TEST(a_verdict_has_what_is_live_now)
{
	fake_stats.live_bytes = 3 * MIB;
	pass(1270);
	fake_stats.live_bytes = 8 * MIB;
	pass(5);
	assert_int_equal(live_now("range=6h"), 8 * MIB); /* by minutes */
	assert_int_equal(live_now("range=15m"), 8 * MIB);
	assert_int_equal(live_now(NULL), 8 * MIB);
	assert_int_equal(live_now("from=0&to=1200"), 3 * MIB);
}
