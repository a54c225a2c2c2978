/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The route table without a server: mount points, missing headers and memory. */
/* uses: @server */

#include "unit.h"
#include "../../src/server/pages/pages.h"
#include "../../src/server/pages/routes.h"
#include "../../src/server/http/assets.h"
#include "asked_routes.h"

EACH(setup, teardown);

TEST(test_mounted_elsewhere)
{
	assert_int_equal(ask("GET", "/", NULL, "/a/b%20c", MW_PEER_RACK), 200);
	assert_true(has("href=\"/a/b%20c/mwrap.css?v="));
	assert_true(has("href=\"/a/b%20c/at/%2Fsrv%2Fa.rb%3A1\""));
	assert_true(has("action=\"/a/b%20c/reset\""));
	assert_true(has("href=\"/a/b%20c/each/0?sort=total"));
	assert_false(has("=\"/each"));
	assert_false(has("=\"/at"));
	assert_false(has("=\"/reset"));
	ask("GET", "/at/%2Fsrv%2Fa.rb%3A1", NULL, "/m", MW_PEER_RACK);
	assert_true(has("href=\"/m/at/%2Fsrv%2Fa.rb%3A1.tsv\""));
	headers = (const char *const[]){ "accept", "text/html", NULL };
	assert_int_equal(ask("POST", "/reset", NULL, "/m", MW_PEER_RACK), 303);
	assert_string_equal(res.location.p, "/m/");
	assert_int_equal(resets, 1);
	ask("GET", "/", NULL, "/\"><script>", MW_PEER_RACK);
	assert_false(has("<script>"));
}

TEST(test_no_header_getter)
{
	struct mw_request req = { .method = "POST", .path = "/trim", .base = "", .peer = MW_PEER_UNIX };

	assert_int_equal(route(&req), 200);
	req.peer = MW_PEER_TCP;
	assert_int_equal(route(&req), 403);
	assert_int_equal(trims, 1);
}

TEST(test_no_memory)
{
	fake_no_memory = true;
	for (const char *const *p =
		     (const char *const[]){ "/", "/each/0", "/each/0.tsv", "/at/x", "/overruns",
					    "/overruns.json", "/heap_pages", "/heap_pages.json", NULL };
	     *p; p++) {
		assert_int_equal(ask("GET", *p, NULL, "", MW_PEER_UNIX), 500);
		assert_non_null(res.asset);
		assert_int_equal(res.asset_len, strlen(res.asset));
	}
}

/* Marks and what is compared with them belong to a site; a snapshot of now needs none. */
TEST(test_marks_need_a_site)
{
	for (const char *const *p = (const char *const[]){ "/marks", "/marks.json", "/diff", "/diff.tsv",
							   "/family/diff", NULL };
	     *p; p++) {
		assert_int_equal(ask("GET", *p, NULL, "", MW_PEER_UNIX), 503);
	}
	assert_int_equal(ask("GET", "/snapshot.tsv", "mark=x", "", MW_PEER_UNIX), 503);
	assert_int_equal(ask("POST", "/mark", "name=x", "", MW_PEER_UNIX), 503);
	assert_int_equal(ask("GET", "/snapshot.tsv", "limit=1&sort=total", "", MW_PEER_UNIX), 200);
	assert_memory_equal(res.body.p, "# mwrap=", 8);
	assert_true(has("\ntotal\tallocations\t"));
	assert_true(has("/srv/<evil>&.rb:2\t"));
	fake_no_memory = true;
	assert_int_equal(ask("GET", "/snapshot.tsv", NULL, "", MW_PEER_UNIX), 500);
}

TEST(test_methods_are_case_sensitive)
{
	assert_int_equal(ask("get", "/", NULL, "", MW_PEER_UNIX), 405);
	assert_int_equal(ask("", "/", NULL, "", MW_PEER_UNIX), 405);
	assert_int_equal(ask("post", "/reset", NULL, "", MW_PEER_UNIX), 405);
	assert_int_equal(resets, 0);
}

TEST(test_warnings)
{
	ask("GET", "/", NULL, "", MW_PEER_UNIX);
	assert_false(has("warning"));
	fake_stats.lost = 1234;
	fake_stats.ruby_lookup = "public";
	fake_stats.ruby_why = "<no> offsets";
	ask("GET", "/", NULL, "", MW_PEER_UNIX);
	assert_true(has("1,234 live blocks could not be recorded"));
	assert_true(has("&lt;no&gt; offsets"));
}

TEST(test_several_have_a_short_id)
{
	enum { LONG = 3000 };
	static char names[2][LONG]; /* rows borrow them */
	char target[64] = "/at/", query[64] = "location=";

	memset(names, 'x', sizeof(names));
	strcpy(names[0] + LONG - 12, " [0x7f0000]");
	strcpy(names[1] + LONG - 12, " [0x7f0001]");
	fake_row(MW_KIND_NATIVE, 10, names[0]);
	mw_location_short(&fake_rows[fake_n - 1], target + 4);
	strcpy(query + 9, target + 4);
	assert_int_equal(ask("GET", target, NULL, "", MW_PEER_UNIX), 200);
	fake_row(MW_KIND_NATIVE, 10, names[1]);
	assert_int_equal(ask("GET", target, NULL, "", MW_PEER_UNIX), 409);
	assert_true(has("several locations have this id"));
	strcat(target, ".tsv");
	assert_int_equal(ask("GET", target, NULL, "", MW_PEER_UNIX), 409);
	assert_int_equal(ask("GET", "/at", query, "", MW_PEER_UNIX), 409);
	assert_int_equal(ask("GET", "/source", query, "", MW_PEER_UNIX), 409);
}

TEST(test_overruns)
{
	assert_int_equal(ask("GET", "/overruns", NULL, "/m", MW_PEER_RACK), 200);
	assert_true(has("No block was found written past its end, or freed with a wrong size."));
	assert_true(has("href=\"/m/overruns.tsv\""));
	assert_false(has("{{"));
	fake_rows[0].overruns = 2;
	fake_rows[0].overrun_size = 24;
	fake_rows[1].overruns = 1234;
	fake_rows[1].overrun_size = 5000;
	fake_rows[1].wrong_sizes = 3;
	fake_rows[1].asked_size = 48;
	fake_rows[1].given_size = 16;
	fake_stats.wrong_sizes = 3;
	fake_rows[2].overruns = 2;
	fake_rows[2].overrun_size = 1;
	fake_stats.overruns = 1238;
	fake_stats.double_frees = 7;
	fake_stats.unknown_frees = UINT64_MAX;
	ask("GET", "/", NULL, "/m", MW_PEER_RACK);
	assert_true(has("<a href=\"/m/overruns\">1,238 blocks were written past the end</a>"));
	assert_true(has("<a href=\"/m/overruns\">3 blocks were freed with a wrong size</a>"));
	ask("GET", "/overruns", NULL, "/m", MW_PEER_RACK);
	assert_true(has("1,238 blocks"));
	assert_true(has("7 frees of a block"));
	assert_true(has("18,446,744,073,709,551,615 of one"));
	assert_true(has(
		"<td class=\"num\">1,234</td><td class=\"num\"><span class=\"amount\" title=\"5,000 bytes\">"
		"4.88\xc2\xa0KB</span></td><td class=\"num\">3</td><td class=\"num\"><span class=\"amount\" title=\"48 bytes\">"
		"48\xc2\xa0"
		"B</span></td><td class=\"num\"><span class=\"amount\" title=\"16 bytes\">16\xc2\xa0"
		"B</span></td>"
		"<td class=\"location\"><a href=\"/m/at/%2Fsrv%2F%3Cevil%3E%26.rb%3A2\">"
		"/<wbr>srv/<wbr>&lt;evil&gt;&amp;.rb:2</a></td>"));
	ask("GET", "/overruns.tsv", NULL, "", MW_PEER_UNIX);
	mw_buf_add(&res.body, "", 1);
	/* most first, ties by location */
	assert_string_equal(res.body.p,
			    "count\tlast_size\twrong_sizes\tasked_size\tgiven_size\tlocation\n"
			    "1234\t5000\t3\t48\t16\t/srv/<evil>&.rb:2\n"
			    "2\t24\t0\t0\t0\t/srv/a.rb:1\n2\t1\t0\t0\t0\t/srv/\xef\xbf\xbd\\t\\n\".rb:3\n");
	ask("GET", "/overruns", "format=json", "", MW_PEER_UNIX);
	assert_string_equal(res.content_type, "application/json; charset=utf-8");
	assert_true(has("\"overruns\":1238,\n\"double_frees\":7,\n\"unknown_frees\":18446744073709551615,\n"
			"\"wrong_sizes\":3,\n\"rows\":[\n{\"count\":1234,\"last_size\":5000,\"wrong_sizes\":3,"
			"\"asked_size\":48,\"given_size\":16,\"location\":\"/srv/"));
	assert_int_equal(ask("GET", "/overruns.txt", NULL, "", MW_PEER_UNIX), 404);
	assert_int_equal(ask("GET", "/overruns", "format=txt", "", MW_PEER_UNIX), 400);
	assert_int_equal(ask("POST", "/overruns", NULL, "", MW_PEER_UNIX), 405);
}

TEST(test_heap_pages)
{
	ask("GET", "/", NULL, "/m", MW_PEER_RACK);
	assert_false(has("Ruby\xe2\x80\x99s heap pages"));
	assert_int_equal(ask("GET", "/heap_pages", NULL, "/m", MW_PEER_RACK), 200);
	assert_true(has("No heap page is known"));
	assert_true(has("No page lives."));
	assert_true(has("<th scope=\"row\">Mean life</th><td class=\"num\">\xe2\x80\x93</td>"));
	assert_false(has("{{"));
	fake_ruby_heap();
	ask("GET", "/", NULL, "/m", MW_PEER_RACK);
	assert_true(has(
		"<a href=\"/m/heap_pages\">Ruby\xe2\x80\x99s heap pages</a> <b><span class=\"amount\" title=\"196,608 bytes\">192\xc2\xa0KB</span></b>"));
	ask("GET", "/heap_pages", NULL, "/m", MW_PEER_RACK);
	assert_true(has(
		"Ruby has 3 pages, <span class=\"amount\" title=\"196,608 bytes\">192\xc2\xa0KB</span>, for its objects"));
	assert_true(has("2 pages were given back, and 1 taken again"));
	assert_true(has("<th scope=\"row\">Longest life</th><td class=\"num\">7</td>"));
	assert_true(has("<tr><td class=\"num address\">0x7f0000000000</td><td class=\"num\">2</td>"
			"<td class=\"num\">9</td><td class=\"num\"><span class=\"amount\" title=\"65,536 bytes\">64.0\xc2\xa0KB</span></td></tr>\n"
			"<tr><td class=\"num address\">0x7f0000010000</td>"));
	assert_true(has("Live pages 1\xe2\x80\x93"
			"3 of 3, oldest first"));
	assert_true(has("href=\"/m/heap_pages.tsv\""));
	assert_false(has("class=\"pager\""));
	ask("GET", "/heap_pages", "limit=1&offset=1", "/m", MW_PEER_RACK);
	assert_true(has("<a rel=\"prev\" href=\"/m/heap_pages?limit=1&amp;offset=0\">"));
	assert_true(has("<a rel=\"next\" href=\"/m/heap_pages?limit=1&amp;offset=2\">"));
	assert_true(has("Live pages 2\xe2\x80\x93"
			"2 of 3"));
	ask("GET", "/heap_pages", "limit=2&offset=18446744073709551615", "", MW_PEER_UNIX);
	assert_true(has("No page is left at this offset."));
	assert_true(has("offset=1\">\xe2\x86\x90 Previous"));
	ask("GET", "/heap_pages", "limit=18446744073709551615&offset=0", "", MW_PEER_UNIX);
	assert_true(has("Live pages 1\xe2\x80\x93"
			"3 of 3"));
	ask("GET", "/heap_pages.csv", "offset=2", "", MW_PEER_UNIX);
	assert_string_equal(res.content_type, "text/csv; charset=utf-8; header=present");
	mw_buf_add(&res.body, "", 1);
	assert_string_equal(res.body.p, "address,generation,age,bytes\r\n0x7f0000020000,9,2,65536\r\n");
	ask("GET", "/heap_pages", "format=json", "", MW_PEER_UNIX);
	assert_true(has("\"pages\":3,\n\"bytes\":196608,"));
	for (const char *const *q =
		     (const char *const[]){ "limit=x", "offset=-1", "limit=1e9", "format=txt",
					    "offset=18446744073709551616", "limit=%00", "a=%zz", NULL };
	     *q; q++) {
		assert_int_equal(ask("GET", "/heap_pages", *q, "", MW_PEER_UNIX), 400);
	}
	assert_int_equal(ask("GET", "/heap_pages.txt", NULL, "", MW_PEER_UNIX), 404);
	assert_int_equal(ask("GET", "/heap_pages/1", NULL, "", MW_PEER_UNIX), 404);
	assert_int_equal(ask("POST", "/heap_pages", NULL, "", MW_PEER_UNIX), 405);
}

TEST(test_metrics)
{
	assert_int_equal(ask("GET", "/metrics", NULL, "/m", MW_PEER_RACK), 200);
	assert_string_equal(res.content_type, "text/plain; version=0.0.4; charset=utf-8");
	assert_true(has("mwrap_location_live_bytes{location=\"/srv/<evil>&.rb:2\"} 5000\n"));
	assert_false(has("# EOF"));
	headers = (const char *const[]){ "accept", "a/b, Application/OpenMetrics-Text; q=0.9", NULL };
	ask("GET", "/metrics", "top=2", "", MW_PEER_UNIX);
	assert_string_equal(res.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_true(has("location=\"/srv/a.rb:1\"} 100\n"));
	assert_true(has("location=\"(rest)\"} 180\n"));
	assert_memory_equal(res.body.p + res.body.n - 7, "\n# EOF\n", 7);
	assert_int_equal(ask("GET", "/metrics", "top=1001", "", MW_PEER_UNIX), 400);
	fake_no_memory = true;
	assert_int_equal(ask("GET", "/metrics", NULL, "", MW_PEER_UNIX), 500);
}

TEST(test_objects_are_elsewhere)
{
	for (const char *const *p = (const char *const[]){ "/objects", "/objects/", "/objects.json",
							   "/objects/class/String", NULL };
	     *p; p++) {
		assert_int_equal(ask("GET", *p, NULL, "", MW_PEER_UNIX), 404);
		assert_true(has("only through the Rack endpoint"));
	}
	assert_int_equal(ask("POST", "/objects/mark", NULL, "", MW_PEER_UNIX), 404);
	assert_int_equal(ask("POST", "/objects/mark", NULL, "", MW_PEER_RACK), 200);
	assert_int_equal(ask("GET", "/objects/mark", NULL, "", MW_PEER_RACK), 405);
	assert_int_equal(ask("GET", "/objectsx", NULL, "", MW_PEER_UNIX), 404);
	assert_true(has("no such page"));
}

/* On every page, not only the first. */
TEST(test_what_is_missing_is_said)
{
	static const char *const pages[] = { "/", "/each/0", "/at/%2Fsrv%2Fa.rb%3A1" };
	static const struct {
		bool *flag;
		const char *text;
	} kinds[] = {
		{ &fake_stats.paused, "Tracking is paused" },
		{ &fake_stats.locations_full, "no room for some locations" },
		{ &fake_stats.threads_full, "no room for some threads" },
		{ &fake_stats.records_full, "ceiling that memory_max sets" },
	};

	fake_stats.memory_max = 1 << 21;
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			assert_int_equal(ask("GET", pages[i], NULL, "", MW_PEER_UNIX), 200);
			assert_false(has(kinds[k].text));
			assert_false(has("class=\"warning\""));
			*kinds[k].flag = true;
			ask("GET", pages[i], NULL, "", MW_PEER_UNIX);
			assert_true(has(kinds[k].text));
			assert_true(has("class=\"warning\""));
			*kinds[k].flag = false;
		}
	}
	fake_stats.records_full = fake_stats.paused = true;
	ask("GET", "/stats.json", NULL, "", MW_PEER_UNIX);
	assert_true(has("\n\"memory_max\":2097152,\n\"locations_full\":false,\n\"records_full\":true,"
			"\n\"threads_full\":false,\n\"paused\":true"));
}

TEST(test_pause)
{
	ask("GET", "/", NULL, "/m", MW_PEER_RACK);
	assert_true(has("action=\"/m/pause\""));
	assert_false(has("action=\"/m/resume\""));
	assert_int_equal(ask("GET", "/pause", NULL, "", MW_PEER_UNIX), 405);
	assert_false(fake_stats.paused);
	assert_int_equal(ask("POST", "/pause", NULL, "", MW_PEER_UNIX), 200);
	assert_true(has("pause: tracking is off"));
	assert_true(fake_stats.paused);
	ask("GET", "/", NULL, "/m", MW_PEER_RACK);
	assert_true(has("action=\"/m/resume\""));
	assert_false(has("action=\"/m/pause\""));
	fake_options.read_only = true;
	assert_int_equal(ask("POST", "/resume", NULL, "", MW_PEER_UNIX), 403);
	assert_true(fake_stats.paused);
	ask("GET", "/", NULL, "", MW_PEER_UNIX);
	assert_false(has("action=\"/resume\""));
	assert_true(has("Tracking is paused"));
	fake_options.read_only = false;
	ask("POST", "/resume", NULL, "", MW_PEER_UNIX);
	assert_true(has("resume: tracking is on"));
	assert_false(fake_stats.paused);
}

TEST(test_ctl)
{
	assert_int_equal(ask("POST", "/ctl", "bt=16", "", MW_PEER_UNIX), 200);
	assert_true(has("bt is 16\n"));
	assert_int_equal(fake_stats.bt, 16);
	headers = (const char *const[]){ "x-mwrap-bt", "3", NULL };
	ask("POST", "/ctl", NULL, "", MW_PEER_UNIX);
	assert_int_equal(fake_stats.bt, 3);
	/* a field counts more than the header */
	headers = (const char *const[]){ "x-mwrap-bt", "3", NULL };
	ask("POST", "/ctl", "bt=2&stacks=off", "", MW_PEER_UNIX);
	assert_true(has("bt is 2, stacks is off\n"));
	assert_int_equal(fake_stats.bt, 2);
	headers = NULL;
	/* all or nothing */
	fake_stats.stacks_rate = 7;
	assert_int_equal(ask("POST", "/ctl", "bt=17&stacks=4096", "", MW_PEER_UNIX), 400);
	assert_true(has("bt: \"17\" is not a number of callers: write digits only, from 0 to 16\n"));
	assert_int_equal(ask("POST", "/ctl", "bt=4&stacks=few", "", MW_PEER_UNIX), 400);
	assert_int_equal(fake_stats.bt, 2);
	assert_int_equal(fake_stats.stacks_rate, 7);
	ask("POST", "/ctl", "stacks=4096", "", MW_PEER_UNIX);
	assert_int_equal(fake_stats.stacks_rate, 4096);
	fake_options.read_only = true;
	assert_int_equal(ask("POST", "/ctl", "bt=0", "", MW_PEER_UNIX), 403);
	assert_int_equal(fake_stats.bt, 2);
	fake_options.read_only = false;
	assert_int_equal(ask("GET", "/ctl", "bt=0", "", MW_PEER_UNIX), 405);
}

TEST(test_empty_table)
{
	fake_n = 0;
	assert_int_equal(ask("GET", "/", NULL, "", MW_PEER_UNIX), 200);
	assert_true(has("No location has that much"));
	assert_true(has("Sum of 0 rows"));
	assert_int_equal(ask("GET", "/each/0.json", NULL, "", MW_PEER_UNIX), 200);
}

/* Each {{name}} of a template has a slot: what is left after filling has no braces of ours. */
TEST(test_no_slot_is_forgotten)
{
	static const char *const pages[] = { "/", "/each/0", "/at/%2Fsrv%2Fa.rb%3A1", "/overruns" };
	size_t templates = 0;

	for (size_t i = 0; i < mw_web_files_n; i++)
		templates += !mw_web_files[i].type;
	assert_true(templates >= 5);
	ask("GET", "/each/0", "limit=1", "", MW_PEER_UNIX);
	assert_false(has("{{"));
	assert_false(has("value=\"\" value"));
	assert_true(has("name=\"min\" min=\"0\" value=\"0\""));
	assert_true(has("<p class=\"exports\">All rows as <a href=\"/each/0.tsv\">TSV</a>"));
	assert_true(has("<main>\n<h1>Locations</h1>\n<form class=\"filter\""));
	assert_true(has("rel=\"next\""));
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		assert_int_equal(ask("GET", pages[i], NULL, "", MW_PEER_UNIX), 200);
		assert_true(has("</html>"));
		assert_false(has("{{"));
	}
}

/* One template serves both: what is only for one of them is not in the other. */
TEST(test_home_and_table)
{
	static char names[MW_HOME_LIMIT][32];

	ask("GET", "/each/0", NULL, "", MW_PEER_UNIX);
	assert_false(has("action=\"/reset\""));
	assert_false(has("class=\"facts\""));
	assert_false(has("class=\"pager\""));
	for (unsigned i = 0; i < MW_HOME_LIMIT; i++) {
		snprintf(names[i], sizeof(names[i]), "/srv/more.rb:%u", i);
		fake_row(MW_KIND_RUBY, 10, names[i]);
	}
	ask("GET", "/", NULL, "", MW_PEER_UNIX);
	assert_true(has("action=\"/reset\""));
	assert_true(has("<main>\n<h1>Growing locations</h1>\n<ul class=\"facts\">"));
	assert_true(has("<form class=\"filter\""));
	assert_true(has("<p class=\"exports\">All rows as "));
	assert_true(has("rel=\"next\" href=\"/each/0?sort=growth&amp;limit=50&amp;offset=50\""));
	ask("GET", "/each/0", "limit=20", "", MW_PEER_UNIX);
	assert_true(has("class=\"pager\""));
}
