/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The grids of points: order, gaps, wrapping, what is too old, what isn't known; events. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/history/history.h"

static struct mw_history h;

static void setup(void)
{
	memset(&h, 0, sizeof(h));
}

static char *json(double now)
{
	struct mw_buf b = { 0 };

	mw_buf_str(&b, "{\"now\":0");
	mw_history_render(&b, &h, now);
	mw_buf_add(&b, "}\n", 3); /* as the page does */
	assert_false(b.failed);
	return b.p;
}

static void has(double now, const char *text)
{
	char *s = json(now);

	if (!strstr(s, text))
		print_error("no %s in %s\n", text, s);
	assert_non_null(strstr(s, text));
	free(s);
}

static void add(uint32_t t, uint32_t rss, uint32_t live, uint32_t heap)
{
	mw_history_add(&h, (struct mw_point){ .t = t,
					      .rss = rss,
					      .live = live,
					      .heap = heap,
					      .files = 1,
					      .tracker = 2,
					      .free = MW_KIB_UNKNOWN,
					      .anon = 4,
					      .stacks = 5,
					      .threads = 6,
					      .fds = 7,
					      .gcs = 8 });
}

EACH(setup, NULL);

TEST(nothing_yet)
{
	has(0.5,
	    ",\n\"fine\":{\"step\":1,\n\"t\":[],\n\"rss\":[],\n"
	    "\"live\":[],\n\"heap\":[],\n\"files\":[],\n\"tracker\":[],\n\"free\":[],\n\"anon\":[],\n"
	    "\"stacks\":[],\n\"threads\":[],\n\"fds\":[],\n\"gcs\":[]},\n\"coarse\":{\"step\":60,\n\"t\":[],");
	has(0.5, "\"long\":{\"step\":120,\n\"t\":[],");
	has(0.5, "\"marks\":[],\n\"events\":[]}\n");
}

TEST(points_are_bytes_and_unknown_is_null)
{
	add(0, 10, 5, MW_KIB_UNKNOWN);
	add(1, MW_KIB_UNKNOWN, MW_KIB_UNKNOWN - 1, 3);
	has(1.5, "\"fine\":{\"step\":1,\n\"t\":[0,1],\n\"rss\":[10240,null],\n"
		 "\"live\":[5120,4398046509056],\n\"heap\":[null,3072],\n\"files\":[1024,1024],\n"
		 "\"tracker\":[2048,2048],\n\"free\":[null,null],\n\"anon\":[4096,4096],\n"
		 "\"stacks\":[5120,5120],\n\"threads\":[6,6],\n\"fds\":[7,7],\n\"gcs\":[8,8]}");
}

TEST(kib_rounds_and_saturates)
{
	assert_int_equal(mw_kib(0), 0);
	assert_int_equal(mw_kib(511), 0);
	assert_int_equal(mw_kib(512), 1);
	assert_int_equal(mw_kib(1024), 1);
	assert_int_equal(mw_kib((uint64_t)1 << 42), MW_KIB_UNKNOWN - 1);
	assert_int_equal(mw_kib(UINT64_MAX), MW_KIB_UNKNOWN - 1);
}

TEST(time_goes_forward_only)
{
	add(7, 1, 1, 1);
	add(7, 2, 2, 2);
	add(6, 3, 3, 3);
	add(8, 4, 4, 4);
	has(9, "\"t\":[7,8],\n\"rss\":[1024,4096]");
}

/* But for the very first point: the process began then. */
TEST(coarse_has_the_lowest_of_each_minute)
{
	add(5, 100, 1, 1);
	add(6, 90, 1, 1);
	add(60, 500, 1, 1);
	add(90, 120, 1, 1);
	add(100, 800, 1, 1);
	add(119, 121, 1, 1);
	add(120, 130, 1, 1);
	add(121, 130, 1, 1);
	has(121, "\"coarse\":{\"step\":60,\n\"t\":[5,90,120],\n\"rss\":[102400,122880,133120]");
	has(121, "\"long\":{\"step\":120,\n\"t\":[5,120],\n\"rss\":[102400,133120]");
}

TEST(coarse_has_the_first_of_each_minute_if_all_rise)
{
	for (uint32_t t = 50; t <= 250; t++)
		if (t < 115 || t > 185) /* stopped meanwhile: no point in the minute from 120 on */
			add(t, t, 0, 0);
	has(250, "\"coarse\":{\"step\":60,\n\"t\":[50,60,186,240],\n\"rss\":[51200,61440,190464,245760]");
	has(250, ",114,186,");
}

TEST(the_rings_wrap)
{
	char text[64];
	char *s;
	unsigned commas = 0;

	for (uint32_t t = 1; t <= MW_FINE_N + 5; t++)
		add(t, t, 0, 0);
	snprintf(text, sizeof(text), ",%d],\n\"rss\":[", MW_FINE_N + 5);
	has(MW_FINE_N + 5, text);
	has(MW_FINE_N + 5, "\"fine\":{\"step\":1,\n\"t\":[6,7,8,");
	s = json(MW_FINE_N + 5);
	for (char *p = strstr(s, "\"t\":["); *p != ']'; p++)
		commas += *p == ',';
	assert_int_equal(commas, MW_FINE_N - 1);
	free(s);
	assert_int_equal(h.coarse_n, MW_FINE_N / 60 + 1);
	for (uint32_t t = 1000; t < 1000 + 60 * (MW_COARSE_N + 10); t += 60)
		add(t, t, 0, 0);
	assert_true(h.coarse_n > MW_COARSE_N);
	assert_int_equal(h.coarse[(h.coarse_n - 1) % MW_COARSE_N].t, 1000 + 60 * (MW_COARSE_N + 9));
}

TEST(what_is_too_old_is_left_out)
{
	add(10, 1, 1, 1);
	add(11, 2, 2, 2);
	add(5000, 3, 3, 3);
	has(5000, "\"fine\":{\"step\":1,\n\"t\":[5000],\n\"rss\":[3072]");
	has(5000, "\"coarse\":{\"step\":60,\n\"t\":[10,5000]");
	add(200000, 4, 4, 4);
	has(200000, "\"coarse\":{\"step\":60,\n\"t\":[200000]");
	/* the server's clock stands still, or nobody took a point for a day */
	has(900000, "\"fine\":{\"step\":1,\n\"t\":[],");
	has(900000, "\"coarse\":{\"step\":60,\n\"t\":[],");
}

TEST(the_last_marks_stay)
{
	mw_history_mark(&h, 1.5);
	has(2, "\"marks\":[1.500],");
	for (int i = 0; i < MW_MARKS_N; i++)
		mw_history_mark(&h, 10 + i);
	has(99, "\"marks\":[10.000,11.000,");
	has(99, ",41.000],");
}

/* Each second of three days: even, from the first second on, never more than it holds. */
TEST(the_long_grid_reaches_back_and_is_even)
{
	for (uint32_t t = 3; t < 3 * 86400; t++) {
		add(t, t, 0, 0);
		assert_true(h.long_n <= MW_LONG_N);
	}
	assert_int_equal(h.long_step, 480);
	assert_int_equal(h.long_n, 540);
	assert_int_equal(h.whole[0].t, 3);
	for (uint32_t i = 1; i < h.long_n; i++) {
		assert_int_equal(h.whole[i].t, i * 480);
		assert_int_equal(h.whole[i].rss, i * 480);
	}
	has(3 * 86400, "\"long\":{\"step\":480,\n\"t\":[3,480,960,");
}

TEST(the_long_grid_with_gaps)
{
	uint32_t last = 0;

	/* a point in a step, always in another place of it; then nothing for a month */
	for (uint32_t i = 0; i < 3000; i++)
		add(i * 360 + i % 97, i, 0, 0);
	add(3000 * 360 + 2592000, 7, 0, 0);
	assert_true(h.long_n > MW_LONG_N / 8 && h.long_n <= MW_LONG_N);
	assert_int_equal(h.whole[0].t, 0);
	for (uint32_t i = 1; i < h.long_n; i++, last = h.whole[i - 1].t)
		assert_true(h.whole[i].t / h.long_step > last / h.long_step || !last);
	assert_int_equal(h.whole[h.long_n - 1].rss, 7);
}

static char *part_json(double from, double to, uint64_t points)
{
	const struct mw_history_part part = { from, to, points };
	struct mw_buf b = { 0 };

	mw_buf_str(&b, "{\"now\":0");
	mw_history_render_part(&b, &h, &part);
	mw_buf_add(&b, "}\n", 3); /* as the page does */
	assert_false(b.failed);
	return b.p;
}

static void part_has(double from, double to, uint64_t points, const char *text)
{
	char *s = part_json(from, to, points);

	if (!strstr(s, text))
		print_error("no %s in %s\n", text, s);
	assert_non_null(strstr(s, text));
	free(s);
}

static unsigned part_size(double from, double to, uint64_t points)
{
	char *s = part_json(from, to, points), *p = strstr(s, "\"t\":[") + 5;
	unsigned n = *p != ']';

	for (; *p != ']'; p++)
		n += *p == ',';
	free(s);
	return n;
}

TEST(a_part_of_nothing)
{
	part_has(0, 100000.5, 300,
		 ",\"from\":0.000,\"to\":100000.500,\"first\":null,\n"
		 "\"t\":[],\n\"rss\":[],\n\"live\":[],\n\"heap\":[],\n\"files\":[],\n\"tracker\":[],\n"
		 "\"free\":[],\n\"anon\":[],\n\"stacks\":[],\n\"threads\":[],\n\"fds\":[],\n\"gcs\":[],\n\"events\":[]}\n");
}

TEST(a_part_has_the_last_point_of_each_division)
{
	for (uint32_t t = 7; t <= 1000; t++)
		add(t, t, 0, MW_KIB_UNKNOWN);
	mw_history_event(&h, 5, "annotation", "deploy");
	part_has(990, 1000, 300,
		 "\"t\":[990,991,992,993,994,995,996,997,998,999,1000],\n\"rss\":[1013760,");
	part_has(990, 1000, 5, "\"t\":[991,993,995,997,1000],\n\"rss\":[1014784,");
	part_has(990, 1000, 2, "\"t\":[994,1000],");
	part_has(990, 1000, 2, "\"first\":7,");
	part_has(990, 1000, 2, "\"heap\":[null,null],");
	part_has(990, 1000, 2, "\"events\":[{\"t\":5.000,\"kind\":\"annotation\",\"text\":\"deploy\"}]}");
	part_has(995.5, 995.5, 2, "\"t\":[],");
	part_has(995, 995, 2, "\"t\":[995],");
	assert_int_equal(part_size(101, 1000, 300), 300);
	assert_int_equal(part_size(101, 1000, 900), 900);
}

/* Seconds, minutes, then the whole time: what reaches back, and never more than was asked for. */
TEST(a_part_is_of_the_finest_grid)
{
	const uint32_t end = 100000;

	for (uint32_t t = 0; t <= end; t++)
		add(t, t, 0, 0);
	assert_int_equal(mw_history_finest(&h, end - 900).step, 1);
	assert_int_equal(mw_history_finest(&h, end - 902).step, 60);
	assert_int_equal(mw_history_finest(&h, end - 86400).step, 60);
	assert_int_equal(mw_history_finest(&h, end - 86600).step, 240);
	assert_int_equal(mw_history_finest(&h, 0).step, 240);
	part_has(end - 3600, end, 300, "\"t\":[96420,96480,");
	part_has(end - 3600, end, 6, "\"t\":[96960,97560,98160,98760,99360,99960],");
	for (uint64_t points = 2; points < 500; points += 83)
		for (uint32_t from = 0; from < end; from += 7777)
			assert_true(part_size(from, end, points) <= points);
	assert_int_equal(part_size(0, end, 1440), 417);
}

TEST(events_are_kept_in_order)
{
	char text[100];

	mw_history_event(&h, 1.25, "annotation", "deploy \"17\"");
	mw_history_event(&h, 2, "pause", NULL);
	has(3, "\"events\":[{\"t\":1.250,\"kind\":\"annotation\",\"text\":\"deploy \\\"17\\\"\"},\n"
	       "{\"t\":2.000,\"kind\":\"pause\",\"text\":\"\"}]}");
	/* the last ones stay */
	for (int i = 0; i < MW_EVENTS_N; i++)
		mw_history_event(&h, 10 + i, "trim", "");
	has(99, "\"events\":[{\"t\":10.000,\"kind\":\"trim\"");
	has(99, "{\"t\":73.000,\"kind\":\"trim\",\"text\":\"\"}]}");
	/* too long a text is cut between two characters */
	memset(text, 'x', sizeof(text));
	memcpy(text + MW_EVENT_TEXT - 1, "\xe2\x82\xac", 4);
	mw_history_event(&h, 100, "annotation", text);
	assert_int_equal(strlen(h.events[(h.events_n - 1) % MW_EVENTS_N].text), MW_EVENT_TEXT - 1);
	text[MW_EVENT_TEXT - 1] = 'y';
	text[MW_EVENT_TEXT] = '\0';
	mw_history_event(&h, 101, "annotation", text);
	assert_string_equal(h.events[(h.events_n - 1) % MW_EVENTS_N].text, text);
}
