/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics: labels whatever a location holds, what is left over, what isn't there. t/metrics.t: the forms. */
/* uses: src/server/report/metrics.c src/server/history/limit.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/rows.c src/shared/report/group.c src/shared/report/rss.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/location.c */
#include "unit.h"
#include "../../src/server/report/metrics.h"
#include "fake_api.h"

static struct mw_metrics m;
static struct mw_buf out;

static void take(uint64_t top)
{
	assert_int_equal(mw_metrics_take(&m, &fake_api, -1, top, true), 0);
	assert_int_equal(fake_out, 0);
}

static void teardown(void)
{
	mw_metrics_free(&m);
	mw_buf_free(&out);
}

/* The lines of one metric, without its head. */
static void lines_are(const char *name, const char *want)
{
	struct mw_buf got = { 0 };

	out.n = 0;
	mw_metrics_render(&out, &m, MW_METRICS_OPENMETRICS);
	assert_false(out.failed);
	mw_buf_add(&out, "", 1);
	for (char *line = out.p, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		if (strncmp(line, name, strlen(name)) || !strchr(" {", line[strlen(name)]))
			continue;
		mw_buf_add(&got, line, (size_t)(end + 1 - line));
	}
	mw_buf_add(&got, "", 1);
	assert_string_equal(got.p, want);
	mw_buf_free(&got);
}

#define BYTES "mwrap_location_live_bytes"

EACH(fake_clear, teardown);

TEST(labels_are_escaped)
{
	fake_row(MW_KIND_RUBY, 50, "/a\"b\\c\nd\te\r.rb:1");
	fake_row(MW_KIND_RUBY, 40, "/\xff{}\xc3\xbc,=.rb:2");
	fake_row(MW_KIND_NATIVE, 30, "/lib/x.so(f+0x1) [0x7f00]");
	fake_row(MW_KIND_NATIVE, 20, "/l [0x1]/x.so(+0x2) [0x7f0012]");
	fake_row(MW_KIND_SPECIAL, 10, "(other)");
	take(20);
	lines_are(BYTES, BYTES
		  "{location=\"/a\\\"b\\\\c\\nd\te\r.rb:1\"} 50\n" BYTES
		  "{location=\"/\xef\xbf\xbd{}\xc3\xbc,=.rb:2\"} 40\n" BYTES
		  "{location=\"/lib/x.so(f+0x1)\"} 30\n" BYTES "{location=\"/l [0x1]/x.so(+0x2)\"} 20\n" BYTES
		  "{location=\"(other)\"} 10\n" BYTES "{location=\"(rest)\"} 0\n");
}

/* The most, and all others; without any of these, all are the rest. */
TEST(the_rest)
{
	struct mw_row *nothing;

	fake_row(MW_KIND_RUBY, 5, "/a:1");
	fake_row(MW_KIND_RUBY, 30, "/b:1")->live = 7;
	fake_row(MW_KIND_RUBY, 4, "/c:1")->live = 3;
	nothing = fake_row(MW_KIND_RUBY, 900, "/d:1");
	nothing->live = nothing->live_bytes = 0;
	take(1);
	lines_are(BYTES, BYTES "{location=\"/b:1\"} 30\n" BYTES "{location=\"(rest)\"} 9\n");
	lines_are("mwrap_location_live_blocks", "mwrap_location_live_blocks{location=\"/b:1\"} 7\n"
						"mwrap_location_live_blocks{location=\"(rest)\"} 4\n");
	mw_metrics_free(&m);
	take(0);
	lines_are(BYTES, BYTES "{location=\"(rest)\"} 39\n");
	mw_metrics_free(&m);
	take(1000);
	assert_int_equal(m.live.n, 4); /* nothing is live in one of them */
}

/* Objects have a list of their own, with the lines that made most of them. */
TEST(rubys_objects)
{
	struct mw_row *r = fake_row(MW_KIND_RUBY, 900, "/a:1");

	r = fake_row(MW_KIND_RUBY, 1, "/b:1");
	*r = (struct mw_row){ .location = r->location,
			      .location_len = r->location_len,
			      .kind = r->kind,
			      .id = r->id,
			      .objects = 100,
			      .object_bytes = 4000,
			      .object_samples = 25,
			      .object_variance = 400 };
	r = fake_row(MW_KIND_RUBY, 1, "/c:1");
	r->objects = 10;
	r->object_bytes = 640;
	r->object_samples = 5;
	r->object_variance = 9;
	take(1);
	lines_are("mwrap_ruby_objects", "mwrap_ruby_objects 110\n");
	lines_are("mwrap_ruby_object_bytes", "mwrap_ruby_object_bytes 4640\n");
	lines_are("mwrap_ruby_object_samples", "mwrap_ruby_object_samples 30\n");
	lines_are("mwrap_ruby_objects_error", "mwrap_ruby_objects_error 40\n");
	lines_are("mwrap_location_ruby_object_bytes",
		  "mwrap_location_ruby_object_bytes{location=\"/b:1\"} 4000\n"
		  "mwrap_location_ruby_object_bytes{location=\"(rest)\"} 640\n");
	lines_are("mwrap_location_ruby_objects", "mwrap_location_ruby_objects{location=\"/b:1\"} 100\n"
						 "mwrap_location_ruby_objects{location=\"(rest)\"} 10\n");
	lines_are("mwrap_location_ruby_objects_error",
		  "mwrap_location_ruby_objects_error{location=\"/b:1\"} 40\n"
		  "mwrap_location_ruby_objects_error{location=\"(rest)\"} 6\n");
	mw_metrics_free(&m);
	assert_int_equal(mw_metrics_take(&m, &fake_api, -1, 1, false), 0); /* they aren't sampled */
	lines_are("mwrap_ruby_objects", "");
	lines_are("mwrap_location_ruby_objects", "");
}

/* A location that looks like another, or like the rest, is in the rest. */
TEST(no_label_twice)
{
	fake_row(MW_KIND_RUBY, 50, "/\xff.rb:1");
	fake_row(MW_KIND_RUBY, 40, "/\xfe.rb:1");
	fake_row(MW_KIND_RUBY, 30, "(rest)");
	fake_row(MW_KIND_NATIVE, 20, "/x.so(+0x1) [0x100]");
	fake_row(MW_KIND_NATIVE, 10, "/x.so(+0x1) [0x200]");
	take(1000);
	lines_are(BYTES, BYTES "{location=\"/\xef\xbf\xbd.rb:1\"} 50\n" BYTES
			       "{location=\"/x.so(+0x1)\"} 20\n" BYTES "{location=\"(rest)\"} 80\n");
}

/* Every length around the limit, with characters of every length: valid, bounded, the end as it was. */
TEST(long_ones_lose_their_middle)
{
	static const char *const chars[] = { "a", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x90\x98", "\xff" };
	char text[2000];

	for (size_t c = 0; c < 5; c++) {
		for (size_t pad = 0; pad < 4; pad++) {
			for (size_t chars_n = 50; chars_n < 300; chars_n += chars_n < 100 ? 1 : 17) {
				size_t n = pad, len;
				const char *label;
				struct mw_buf valid = { 0 }, again = { 0 };

				memset(text, 'x', pad);
				for (size_t i = 0; i < chars_n; i++, n += strlen(chars[c]))
					memcpy(text + n, chars[c], strlen(chars[c]));
				memcpy(text + n, "/file.rb:1234", 14);
				n += 13;
				fake_n = 0;
				fake_row_n(MW_KIND_RUBY, 5, text, n);
				take(5);
				assert_int_equal(m.live.n, 2);
				label = m.labels.p + m.live.v[0].at;
				len = m.live.v[0].len;
				mw_buf_utf8(&valid, text, n);
				mw_buf_utf8(&again, label, len);
				assert_int_equal(again.n, len); /* valid already: nothing is replaced */
				assert_memory_equal(again.p, label, len);
				assert_true(len <= MW_METRICS_LABEL);
				if (valid.n <= MW_METRICS_LABEL) {
					assert_int_equal(valid.n, len);
				} else {
					const char *dots = memmem(label, len, "\xe2\x80\xa6", 3);
					size_t tail;

					assert_true(len > MW_METRICS_LABEL - 8);
					assert_non_null(dots);
					tail = (size_t)(label + len - dots) - 3;
					assert_memory_equal(label, valid.p, (size_t)(dots - label));
					assert_memory_equal(dots + 3, valid.p + valid.n - tail, tail);
					assert_true(tail > 100 && dots - label > 60);
				}
				mw_buf_free(&valid);
				mw_buf_free(&again);
				mw_metrics_free(&m);
			}
		}
	}
	/* two that differ only where it is missing */
	memset(text, 'a', 700);
	memcpy(text + 690, "/x.rb:1234", 11);
	memcpy(text + 1000, text, 701);
	text[1300] = 'b';
	fake_n = 0;
	fake_row(MW_KIND_RUBY, 7, text);
	fake_row(MW_KIND_RUBY, 6, text + 1000);
	take(5);
	assert_int_equal(m.live.n, 2);
	assert_int_equal(m.live.v[0].bytes, 7);
	assert_int_equal(m.live.v[1].bytes, 6);
}

/* Figures that don't fit into other numbers; what a process doesn't have is in no line. */
TEST(figures_of_a_process)
{
	fake_stats.ever_known = true;
	fake_stats.ever_total = UINT64_MAX;
	fake_stats.life_unit = "gc";
	fake_stats.generation = 7;
	fake_row(MW_KIND_RUBY, 5, "/a:1");
	take(5);
	lines_are("mwrap_allocated_bytes_total", "mwrap_allocated_bytes_total 18446744073709551615\n");
	lines_are("mwrap_gc_runs_total", "mwrap_gc_runs_total 7\n");
	lines_are("mwrap_heap_pages", "");
	lines_are("mwrap_uptime_seconds", "mwrap_uptime_seconds 0\n");
	mw_metrics_free(&m);
	fake_ruby_heap();
	fake_stats.ever_total = 3;
	fake_stats.life_unit = "bytes";
	fake_stats.uptime = 12.5;
	take(0);
	lines_are("mwrap_allocated_bytes_total", "mwrap_allocated_bytes_total 3\n");
	lines_are("mwrap_gc_runs_total", "");
	lines_are("mwrap_heap_pages", "mwrap_heap_pages 3\n");
	lines_are("mwrap_uptime_seconds", "mwrap_uptime_seconds 12.500\n");
	lines_are(BYTES, BYTES "{location=\"(rest)\"} 5\n");
}

/* Of its own, for what others add: any bytes, and what comes before it. */
TEST(a_label)
{
	static const char title[] = "12 \"puma\": a\\b\n\xff";
	unsigned n = 0;

	mw_metrics_label(&out, &n, "title", title, sizeof(title) - 1);
	mw_metrics_label(&out, &n, "none", "", 0);
	assert_int_equal(n, 2);
	mw_buf_add(&out, "", 1);
	assert_string_equal(out.p, "{title=\"12 \\\"puma\\\": a\\\\b\\n\xef\xbf\xbd\",none=\"\"");
}

TEST(no_memory)
{
	fake_no_memory = true;
	assert_int_equal(mw_metrics_take(&m, &fake_api, -1, 5, false), -1);
	assert_null(m.live.v);
	fake_no_memory = false;
	/* sums that could not be had are no zeros: those would be a counter that fell */
	take(5);
	lines_are("mwrap_allocated_bytes_total", "");
	lines_are("mwrap_live_bytes", "");
	lines_are("mwrap_locations", "mwrap_locations 0\n");
}
