/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locations given back, one location's live blocks, the process's numbers. */
/* uses: src/shared/report/location.c src/server/report/lives.c src/server/report/stats.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c src/shared/report/rss.c */
#include <unistd.h>

#include "unit.h"
#include "../../src/api/version.h"
#include "fake_api.h"
#include "known_columns.h"

#define RUBY MW_KIND_RUBY
#define NATIVE MW_KIND_NATIVE

/* The index of the row that is found for a location, or -1. */
static int find_n(const char *s, size_t n)
{
	struct mw_snapshot snap = { .n = fake_n, .rows = fake_rows };
	char *copy = malloc(n + 1); /* on the heap, so that a sanitizer sees reads behind it */
	const struct mw_row *r;

	memcpy(copy, s, n);
	copy = realloc(copy, n ? n : 1);
	r = mw_location_find(&snap, copy, n);
	free(copy);
	return r ? (int)r->id : -1;
}

static int find(const char *s)
{
	return find_n(s, strlen(s));
}

EACH(fake_clear, NULL);

TEST(finds_what_pages_show)
{
	assert_int_equal(find("/a.rb:1"), -1);
	fake_row(RUBY, 10, "/a.rb:1");
	fake_row(RUBY, 20, "/a.rb:12");
	fake_row(NATIVE, 30, "/l/libx.so(f+0x1f) [0x7f0000001234]");
	fake_row(NATIVE, 40, "/l/libx.so() [0x7f00000000aa]");
	fake_row(NATIVE, 50, "/l/libx.so() [0x7f00000000bb]");
	fake_row(RUBY, 60, "");
	assert_int_equal(find("/a.rb:1"), 0);
	assert_int_equal(find("/a.rb:12"), 1);
	assert_int_equal(find("/a.rb:123"), -1);
	assert_int_equal(find("/a.rb"), -1);
	assert_int_equal(find(""), 5);
	assert_int_equal(find("/l/libx.so(f+0x1f) [0x7f0000001234]"), 2);
	assert_int_equal(find("/l/libx.so(f+0x1f)\t[0x7f0000001234]"), 2);
	assert_int_equal(find("/l/libx.so(f+0x1f)"), 2);
	assert_int_equal(find("/l/libx.so(f+0x1f) [0x1]"), 2); /* another process's address */
	/* as on stderr, without the symbol, with the offset in the module */
	assert_int_equal(find("/l/libx.so(+0x1234) [0x7f0000001234]"), 2);
	assert_int_equal(find("/l/libx.so(+0x1234)\t[0x7f00000000aa]"), 3);
	assert_int_equal(find("/l/libx.so(+0x1234) [0x1]"), -1);
	assert_int_equal(find("/l/libx.so(+0x1234)"), -1);
	assert_int_equal(find("/l/liby.so(+0x1234) [0x7f0000001234]"), -1);
	assert_int_equal(find("/l/libx.so(g+0x1234) [0x7f0000001234]"), -1);
	assert_int_equal(find("/a.rb:1\t[0x55aa]"), 0);
	assert_int_equal(find("/l/libx.so() [0x7f00000000aa]"), 3);
	assert_int_equal(find("/l/libx.so()\t[0x7f00000000bb]"), 4);
	assert_int_equal(find("/l/libx.so()"), 4); /* the one with the larger total */
	assert_int_equal(find("/l/libx.so() [0x99]"), 4);
	assert_int_equal(find("/l/libx.so()  [0x7f00000000aa]"), -1);
	/* as mwrap 2.x: behind a tab, the address alone tells, if no name does */
	fake_row(NATIVE, 70, "[0xcafe]");
	assert_int_equal(find("anything\t[0x7f0000001234]"), 2);
	assert_int_equal(find("anything\t[0x00007F0000001234]"), 2);
	assert_int_equal(find("/l/libx.so()\t[0x7f0000001234]"), 4); /* that name's */
	assert_int_equal(find("anything\t[0xcafe]"), 6);
	assert_int_equal(find("anything [0x7f0000001234]"), -1);
	assert_int_equal(find("anything\t[0x7f0000001235]"), -1);
	assert_int_equal(find("anything\t[0x10000000000000000]"), -1);
	assert_int_equal(find("anything\t[0x0]"), -1);
	assert_int_equal(find("anything\t[0x00000000000000000000]"), -1);
}

/* t/js/place.test.mjs has the same */
TEST(short_ids)
{
	static const char *const want[][2] = {
		{ "a:1", "~b6a2a12c8721c05f" },
		{ "/srv/app/lib/some/where/far/away.rb:4711", "~34ee972c1ec1e46a" },
		{ "/usr/lib/libfoo.so(bar+0x1f) [0x7f0000001234]", "~b076bd53ae7c8388" },
		{ "/usr/lib/libfoo.so(bar+0x1f)", "~b076bd53ae7c8388" },
		{ "/srv/h\xc3\xbc\xe2\x82\xac.rb:7", "~1210da941f2869a8" },
		{ "/srv/h\xff.rb:7", NULL }, /* as it is shown: */
		{ "/srv/h\xef\xbf\xbd.rb:7", NULL },
	};
	char id[MW_SHORT_ID + 1], same[MW_SHORT_ID + 1] = "";

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct mw_row r = { .location = want[i][0], .location_len = (uint32_t)strlen(want[i][0]) };

		mw_location_short(&r, id);
		if (want[i][1])
			assert_string_equal(id, want[i][1]);
		else if (*same)
			assert_string_equal(id, same);
		else
			strcpy(same, id);
	}
}

TEST(finds_by_short_ids)
{
	struct mw_snapshot snap = { .rows = fake_rows };
	enum { LONG = 5000 };
	static char names[4][LONG]; /* rows borrow them */
	char id[MW_SHORT_ID + 1];
	static char called[MW_SHORT_ID + 1];
	const struct mw_row *row;

	memset(names, 'x', sizeof(names));
	strcpy(names[0] + LONG - 5, ".c:7");
	strcpy(names[1] + LONG - 5, ".d:7");
	strcpy(names[2] + LONG - 12, " [0x7f0000]");
	strcpy(names[3] + LONG - 12, " [0x7f0001]");
	fake_row(RUBY, 10, names[0]);
	fake_row(RUBY, 20, names[1]);
	fake_row(RUBY, 20, "/short.rb:1");
	snap.n = fake_n;
	mw_location_short(&fake_rows[1], id);
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID, &row), 0);
	assert_ptr_equal(row, &fake_rows[1]);
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID - 1, &row), 1);
	id[1] ^= 1;
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID, &row), 1);
	mw_location_short(&fake_rows[2], id); /* nobody links to it by that */
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID, &row), 1);
	/* one that is called so is meant */
	mw_location_short(&fake_rows[0], id);
	strcpy(called, id);
	fake_row(RUBY, 1, called);
	snap.n = fake_n;
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID, &row), 0);
	assert_ptr_equal(row, &fake_rows[3]);
	/* of two with the same name at two addresses none is */
	fake_row(NATIVE, 10, names[2]);
	fake_row(NATIVE, 10, names[3]);
	snap.n = fake_n;
	mw_location_short(&fake_rows[4], id);
	assert_int_equal(mw_location_look(&snap, id, MW_SHORT_ID, &row), 2);
	assert_int_equal(mw_location_look(&snap, fake_rows[5].location, fake_rows[5].location_len, &row),
			 0);
	assert_ptr_equal(row, &fake_rows[5]);
}

TEST(things_that_only_look_like_addresses)
{
	static const char *const odd[] = {
		"]",     " [0x]",  "[0x1]",  " [0x1]",  "x [0x]",   "x [0xg]",
		"x [1]", "x[0x1]", "x [0x1", "\t[0x1]", "x [0x1] ", " [0x1] [0x2]",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_int_equal(find(odd[i]), -1);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		fake_row(RUBY, i, odd[i]);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_int_equal(find(odd[i]), (int)i);
}

TEST(finds_what_files_show)
{
	static void (*const escapes[])(struct mw_buf *, const char *, size_t) = {
		mw_buf_text,
		mw_buf_utf8,
		mw_buf_tsv,
	};
	static const char *const names[] = { "/a\tb\n\\c.rb:1", "/caf\xe9.rb:1", "\xff\xfe\t:1",
					     "/gr\xc3\xbcn.rb:1" };
	struct mw_buf b = { 0 };

	fake_row(RUBY, 1000, "/cafe.rb:1");
	for (size_t i = 0; i < 4; i++)
		fake_row(RUBY, i, names[i]);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(find(names[i]), (int)i + 1);
		for (size_t e = 0; e < 3; e++) {
			b.n = 0;
			escapes[e](&b, names[i], strlen(names[i]));
			assert_int_equal(find_n(b.p, b.n), (int)i + 1);
		}
	}
	mw_buf_free(&b);
	/* an escaped form that is another row's real name: that one */
	fake_row(RUBY, 1, "/a\\tb\\n\\\\c.rb:1");
	assert_int_equal(find("/a\\tb\\n\\\\c.rb:1"), 5);
}

TEST(any_length)
{
	static char big[200001];
	uint32_t len = 100000;

	memset(big, 'a', sizeof(big) - 1);
	fake_row(RUBY, 1, "aaa");
	assert_int_equal(find(big), -1);
	fake_row_n(RUBY, 1, big, len);
	assert_int_equal(find_n(big, len), 1);
	assert_int_equal(find_n(big, len - 1), -1);
	memset(big, '\xff', sizeof(big) - 1);
	assert_int_equal(find_n(big, len), 1);
	assert_int_equal(find(big), -1);
	memset(big, '1', sizeof(big) - 1);
	memcpy(big, "x [0x", 5);
	big[sizeof(big) - 2] = ']';
	assert_int_equal(find(big), -1);
	fake_row(RUBY, 1, "x");
	assert_int_equal(find(big), 2);
}

/* --- live blocks ---------------------------------------------------------- */

static void live(uint32_t id, uintptr_t addr, uint64_t size, uint64_t generation)
{
	fake_lives[fake_lives_n++] = (struct mw_live){ addr, size, generation, id, 0 };
}

static void some_lives(void)
{
	fake_row(RUBY, 1000, "/b.rb:1");
	fake_row(RUBY, 900, "/a.rb:2");
	fake_stats.generation = 100;
	fake_stats.life_unit = "gc";
	live(1, 0x3000, 24, 90);
	live(0, 0x9000, 1, 99);
	live(1, 0x2000, 0, 100);
	live(1, 0x1000, UINT64_MAX, 90);
	live(1, 0x4000, 31, 101); /* allocated after the generation was read */
	live(1, 0x5000, 1, 0);
}

TEST(lives_are_newest_first)
{
	static const uintptr_t order[] = { 0x4000, 0x2000, 0x1000, 0x3000, 0x5000 };
	static const uint64_t ages[] = { 0, 0, 10, 10, 100 };
	struct mw_at at;

	some_lives();
	assert_int_equal(mw_at_make(&at, &fake_api, "/a.rb:2", 7), 0);
	assert_string_equal(at.row->location, "/a.rb:2");
	assert_int_equal(at.lives->n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(at.lives->v[i].addr == order[i]);
		assert_int_equal(mw_live_age(&at, &at.lives->v[i]), ages[i]);
	}
	mw_at_free(&at, &fake_api);
	assert_int_equal(fake_out, 0);
}

static void bucket(const struct mw_bucket *b, uint64_t from, uint64_t to, uint64_t count, uint64_t bytes)
{
	assert_true(b->from == from);
	assert_true(b->to == to);
	assert_true(b->count == count);
	assert_true(b->bytes == bytes);
}

TEST(summaries)
{
	struct mw_at at;

	some_lives();
	assert_int_equal(mw_at_make(&at, &fake_api, "/a.rb:2", 7), 0);
	assert_int_equal(at.n_size, 4);
	bucket(&at.by_size[0], 0, 0, 1, 0);
	bucket(&at.by_size[1], 1, 1, 1, 1);
	bucket(&at.by_size[2], 16, 31, 2, 55);
	bucket(&at.by_size[3], UINT64_C(1) << 63, UINT64_MAX, 1, UINT64_MAX);
	assert_int_equal(at.n_age, 3);
	bucket(&at.by_age[0], 0, 0, 2, 31);
	bucket(&at.by_age[1], 8, 15, 2, UINT64_MAX);
	bucket(&at.by_age[2], 64, 127, 1, 1);
	mw_at_free(&at, &fake_api);
}

static void at_renders(enum mw_format format, const char *want)
{
	struct mw_at at;
	struct mw_buf b = { 0 };

	assert_int_equal(mw_at_make(&at, &fake_api, "/b.rb:1", 7), 0);
	mw_render_at(&b, &at, format);
	mw_buf_add(&b, "", 1);
	assert_false(b.failed);
	assert_string_equal(b.p, want);
	mw_buf_free(&b);
	mw_at_free(&at, &fake_api);
	assert_int_equal(fake_out, 0);
}

TEST(lives_in_every_form)
{
	static const struct known_row row = { { "1000", "1", "0", "1000", "1000", "1", "null", "0",
						"\"/b.rb:1\"" } };
	struct mw_buf want = { 0 };

	some_lives();
	live(0, (uintptr_t)0x7fffdeadbeef, 4096, 7);
	at_renders(MW_FORMAT_TSV,
		   "size\tgeneration\tage\taddress\n1\t99\t1\t0x9000\n4096\t7\t93\t0x7fffdeadbeef\n");
	at_renders(MW_FORMAT_TEXT,
		   "size\tgeneration\tage\taddress\n1\t99\t1\t0x9000\n4096\t7\t93\t0x7fffdeadbeef\n");
	at_renders(MW_FORMAT_CSV,
		   "size,generation,age,address\r\n1,99,1,0x9000\r\n4096,7,93,0x7fffdeadbeef\r\n");
	mw_buf_str(&want, "{");
	want_row(&want, MW_FORMAT_JSON, &fake_rows[0], &row);
	mw_buf_str(&want,
		   ",\n"
		   "\"generation\":100,\"life_unit\":\"gc\",\n"
		   "\"by_size\":[{\"from\":1,\"to\":1,\"count\":1,\"bytes\":1},"
		   "{\"from\":4096,\"to\":8191,\"count\":1,\"bytes\":4096}],\n"
		   "\"by_age\":[{\"from\":1,\"to\":1,\"count\":1,\"bytes\":1},"
		   "{\"from\":64,\"to\":127,\"count\":1,\"bytes\":4096}],\n"
		   "\"lives\":[\n{\"size\":1,\"generation\":99,\"age\":1,\"address\":\"0x9000\"},"
		   "\n{\"size\":4096,\"generation\":7,\"age\":93,\"address\":\"0x7fffdeadbeef\"}]}\n");
	mw_buf_add(&want, "", 1);
	at_renders(MW_FORMAT_JSON, want.p);
	mw_buf_free(&want);
	fake_lives_n = 0;
	at_renders(MW_FORMAT_TSV, "size\tgeneration\tage\taddress\n");
	at_renders(MW_FORMAT_CSV, "size,generation,age,address\r\n");
}

TEST(no_such_location_and_no_memory)
{
	struct mw_at at;

	some_lives();
	assert_int_equal(mw_at_make(&at, &fake_api, "/c.rb:1", 7), 1);
	assert_int_equal(fake_out, 0);
	fake_no_memory = true;
	assert_int_equal(mw_at_make(&at, &fake_api, "/a.rb:2", 7), -1);
	assert_null(at.snapshot);
	assert_int_equal(fake_out, 0);
}

/* --- the process ---------------------------------------------------------- */

static void no_more(struct mw_buf *b, const struct mw_stats *stats, void *ctx)
{
	(void)b;
	(void)stats;
	(void)ctx;
}

static char *stats_json(void)
{
	struct mw_buf b = { 0 };

	mw_render_stats_json(&b, &fake_api, -1, NULL, no_more, NULL);
	mw_buf_add(&b, "", 1);
	assert_false(b.failed);
	return b.p;
}

static void has(const char *json, const char *part)
{
	if (!strstr(json, part))
		fail_msg("no %s in %s", part, json);
}

TEST(all_stats)
{
	static const char *const names[] = {
		"total",         "allocations", "freed",         "frees",   "live_bytes",
		"live",          "locations",   "locations_max", "retired", "generation",
		"tracker_bytes", "lost",        "resets",
	};
	uint64_t *const values[] = {
		&fake_stats.total,      &fake_stats.allocations,   &fake_stats.freed,
		&fake_stats.frees,      &fake_stats.live_bytes,    &fake_stats.live,
		&fake_stats.locations,  &fake_stats.locations_max, &fake_stats.retired,
		&fake_stats.generation, &fake_stats.tracker_bytes, &fake_stats.lost,
		&fake_stats.resets,
	};
	char part[128], *json;

	for (size_t i = 0; i < 13; i++)
		*values[i] = 1000 + i;
	fake_stats.life_unit = "gc";
	fake_stats.ruby_lookup = "public";
	fake_stats.ruby_why = "a \"reason\"";
	fake_stats.mode = "none";
	fake_stats.mode_why = "another \"reason\"";
	fake_stats.gc_count = "call";
	fake_stats.uptime = 12.0625;
	json = stats_json();
	for (size_t i = 0; i < 13; i++) {
		snprintf(part, sizeof(part), "\"%s\":%zu,", names[i], 1000 + i);
		has(json, part);
	}
	has(json, "\"life_unit\":\"gc\"");
	has(json, "\"ruby_lookup\":\"public\"");
	has(json, "\"ruby_why\":\"a \\\"reason\\\"\"");
	has(json, "\"mode\":\"none\"");
	has(json, "\"mode_why\":\"another \\\"reason\\\"\"");
	has(json, "\"gc_count\":\"call\"");
	has(json, "\"uptime\":12.063,");
	has(json, "\"version\":\"" MWRAP_VERSION "\"");
	snprintf(part, sizeof(part), "\"pid\":%ld,", (long)getpid());
	has(json, part);
	assert_null(strstr(json, "\"rss_bytes\":null"));
	assert_true(strtoull(strstr(json, "\"rss_bytes\":") + 12, NULL, 10) >= 4096);
	free(json);
}

TEST(options_in_stats)
{
	char *json;

	json = stats_json();
	has(json, "\"options\":{\n\"socket\":null,");
	has(json, "\"dump_fd\":null,");
	has(json, "\"dump_format\":\"text\",");
	has(json, "\"read_only\":false,");
	has(json, "\"children\":null}\n}\n");
#define OPTION(key, show, value, group, help, manual) has(json, "\n\"" #key "\":");
#include "../../src/api/options.def"
	has(json, "\"life_unit\":null,");
	has(json, "\"uptime\":0.000,");
	assert_non_null(json);
	assert_memory_equal(json, "{\n\"version\":", 12);
	free(json);
	fake_options.socket = "/tmp/\xff<%p>";
	fake_options.dump_fd = 0;
	fake_options.dump_min = UINT64_MAX;
	fake_options.dump_format = MW_FORMAT_JSON;
	fake_options.read_only = true;
	fake_stats.uptime = -1;
	json = stats_json();
	has(json, "\"socket\":\"/tmp/\xef\xbf\xbd\\u003c%p\\u003e\",");
	has(json, "\"dump_fd\":0,");
	has(json, "\"dump_min\":18446744073709551615,");
	has(json, "\"dump_format\":\"json\",");
	has(json, "\"read_only\":true,");
	has(json, "\"trace_full\":\"wait\",");
	has(json, "\"uptime\":0.000,");
	free(json);
}
