/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers, numbers as text, and hostile bytes in every form. */
/* uses: src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/columns.c */
#include "unit.h"
#include "known_columns.h"
#include "../../src/shared/text/json.h"

#define FFFD "\xef\xbf\xbd"

static struct mw_buf b;

static void clear(void)
{
	mw_buf_free(&b);
}

/* The buffer holds `want`, and is emptied. */
static void holds_n(const char *want, size_t n)
{
	assert_false(b.failed);
	assert_int_equal(b.n, n);
	if (n)
		assert_memory_equal(b.p, want, n);
	b.n = 0;
}

static void holds(const char *want)
{
	holds_n(want, strlen(want));
}

EACH(clear, clear);

TEST(buffer_grows)
{
	char *big = malloc(100000);

	memset(big, 'x', 100000);
	for (int i = 0; i < 30; i++)
		mw_buf_add(&b, big, (size_t)i * 1000 + 1);
	assert_int_equal(b.n, 435030);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(b.p[i], 'x');
	b.n = 0;
	mw_buf_add(&b, NULL, 0);
	mw_buf_str(&b, "");
	holds("");
	mw_buf_fmt(&b, "%s=%d", "a", -5);
	mw_buf_fmt(&b, "%s", "");
	holds("a=-5");
	mw_buf_fmt(&b, "%.*s", 100000, big);
	assert_int_equal(b.n, 100000);
	free(big);
	mw_buf_free(&b);
	assert_null(b.p);
	assert_int_equal(b.n + b.cap, 0);
}

TEST(no_memory_sticks)
{
	mw_buf_str(&b, "x");
	mw_buf_add(&b, "y", SIZE_MAX - 5); /* never read: there is no room */
	assert_true(b.failed);
	mw_buf_str(&b, "z");
	mw_buf_fmt(&b, "%d", 1);
	mw_buf_u64(&b, 1);
	mw_buf_json(&b, "q", 1);
	assert_int_equal(b.n, 1);
	assert_true(b.failed);
	mw_buf_free(&b);
	assert_false(b.failed);
	mw_buf_add(&b, "y", SIZE_MAX / 2 + 2);
	assert_true(b.failed);
}

TEST(numbers)
{
	static const uint64_t samples[] = { 0,       1,          9,         10,        99,
					    100,     999,        1000,      123456,    999999,
					    1000000, UINT32_MAX, INT64_MAX, UINT64_MAX };
	char want[64];

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		mw_buf_u64(&b, samples[i]);
		snprintf(want, sizeof(want), "%" PRIu64, samples[i]);
		holds(want);
		mw_buf_pad_u64(&b, samples[i], 16);
		snprintf(want, sizeof(want), "%16" PRIu64, samples[i]);
		holds(want);
		mw_buf_pad_u64(&b, samples[i], 1);
		snprintf(want, sizeof(want), "%" PRIu64, samples[i]);
		holds(want);
	}
	mw_buf_commas(&b, 0);
	holds("0");
	mw_buf_commas(&b, 999);
	holds("999");
	mw_buf_commas(&b, 1000);
	holds("1,000");
	mw_buf_commas(&b, 123456);
	holds("123,456");
	mw_buf_commas(&b, UINT64_MAX);
	holds("18,446,744,073,709,551,615");
}

static void ratio(uint64_t u, uint64_t by, const char *plain, const char *whole)
{
	struct mw_cell c = { .kind = MW_CELL_RATIO, .u = u, .by = by };

	mw_cell_plain(&b, &c);
	holds(plain);
	mw_cell_whole(&b, &c);
	holds(whole);
}

TEST(means)
{
	ratio(0, 1, "0", "0");
	ratio(5, 1, "5", "5");
	ratio(5, 2, "2.5", "3");
	ratio(9, 4, "2.25", "2");
	ratio(9, 8, "1.125", "1");
	ratio(1, 3, "0.333", "0");
	ratio(2, 3, "0.667", "1");
	ratio(1, 1000, "0.001", "0");
	ratio(1, 2000, "0.001", "0");
	ratio(1, 2001, "0", "0");
	ratio(9999, 10000, "1", "1");
	ratio(101, 100, "1.01", "1");
	ratio(1234567890, 1, "1234567890", "1,234,567,890");
	ratio(UINT64_MAX, 1, "18446744073709551615", "18,446,744,073,709,551,615");
	ratio(UINT64_MAX, 2, "9223372036854775807.5", "9,223,372,036,854,775,808");
	ratio(UINT64_MAX, UINT64_MAX, "1", "1");
	ratio(1, UINT64_MAX, "0", "0");
	ratio(UINT64_MAX - 1, UINT64_MAX, "1", "1");
}

TEST(cells)
{
	struct mw_cell c = { .kind = MW_CELL_INT, .i = -1234567 };

	mw_cell_plain(&b, &c);
	holds("-1234567");
	mw_cell_whole(&b, &c);
	holds("-1,234,567");
	c.i = INT64_MIN;
	mw_cell_plain(&b, &c);
	holds("-9223372036854775808");
	mw_cell_whole(&b, &c);
	holds("-9,223,372,036,854,775,808");
	c.i = INT64_MAX;
	mw_cell_plain(&b, &c);
	holds("9223372036854775807");
	c = (struct mw_cell){ .kind = MW_CELL_NONE };
	mw_cell_plain(&b, &c);
	mw_cell_whole(&b, &c);
	holds("");
}

TEST(column_names)
{
	int seen = 0;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++) {
		const struct mw_column *c = &mw_columns[i];

		seen += is_known(i, seen);
		assert_int_equal(mw_column_find(c->name, strlen(c->name)), i);
		assert_true(strlen(c->title) > 0);
		assert_int_equal(c->about[strlen(c->about) - 1], '.');
		assert_int_equal(c->order, c->type == MW_TYPE_TEXT || c->type == MW_TYPE_KIND ? 1 : -1);
	}
	assert_int_equal(seen, KNOWN_N);
	assert_true(mw_column_is_in(mw_column_find("location", 8), false, false));
	assert_int_equal(mw_column_find("bytes", 5), 0);
	assert_int_equal(mw_column_find("totalx", 5), 0);
	assert_int_equal(mw_column_find("totalx", 6), -1);
	assert_int_equal(mw_column_find("tota", 4), -1);
	assert_int_equal(mw_column_find("Total", 5), -1);
	assert_int_equal(mw_column_find("", 0), -1);
	assert_int_equal(mw_column_find("live\0x", 6), -1);
}

struct forms {
	const char *in;
	size_t n;
	const char *text, *tsv, *csv, *json, *html;
};
#define IN(s) (s), sizeof(s) - 1

static void check_forms(const struct forms *f)
{
	mw_buf_text(&b, f->in, f->n);
	holds(f->text);
	mw_buf_tsv(&b, f->in, f->n);
	holds(f->tsv);
	mw_buf_csv(&b, f->in, f->n);
	holds(f->csv);
	mw_buf_json(&b, f->in, f->n);
	holds(f->json);
	mw_buf_html(&b, f->in, f->n);
	holds(f->html);
}

TEST(hostile_characters)
{
	static const struct forms samples[] = {
		{ IN(""), "", "", "", "\"\"", "" },
		{ IN("/srv/a_b-c.rb:12"), "/srv/a_b-c.rb:12", "/srv/a_b-c.rb:12", "/srv/a_b-c.rb:12",
		  "\"/srv/a_b-c.rb:12\"", "/srv/a_b-c.rb:12" },
		{ IN("a\tb\nc\rd\\e"), "a\\tb\\nc\\rd\\\\e", "a\\tb\\nc\\rd\\\\e", "\"a\tb\nc\rd\\e\"",
		  "\"a\\tb\\nc\\rd\\\\e\"", "a\tb\nc\rd\\e" },
		{ IN("say \"hi\", you"), "say \"hi\", you", "say \"hi\", you", "\"say \"\"hi\"\", you\"",
		  "\"say \\\"hi\\\", you\"", "say &quot;hi&quot;, you" },
		{ IN("<b>&'</b>"), "<b>&'</b>", "<b>&'</b>", "<b>&'</b>",
		  "\"\\u003cb\\u003e\\u0026'\\u003c/b\\u003e\"", "&lt;b&gt;&amp;&#39;&lt;/b&gt;" },
		{ IN("\x01\x1f\x7f\b\f"), "\x01\x1f\x7f\b\f", "\x01\x1f\x7f\b\f", "\x01\x1f\x7f\b\f",
		  "\"\\u0001\\u001f\\u007f\\b\\f\"", "\x01\x1f\x7f\b\f" },
		{ IN("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		  "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		  "\"\\u2028\\u2029\xe2\x80\xaa\"", "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa" },
		{ IN(" lead"), " lead", " lead", "\" lead\"", "\" lead\"", " lead" },
		{ IN("trail "), "trail ", "trail ", "\"trail \"", "\"trail \"", "trail " },
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		check_forms(&samples[i]);
	mw_buf_json(&b, "a\0b", 3);
	holds("\"a\\u0000b\"");
	mw_buf_html(&b, "a\0b", 3);
	holds("a" FFFD "b");
}

static void utf8_becomes(const char *in, const char *want)
{
	char quoted[256];
	size_t n = strlen(in);

	mw_buf_utf8(&b, in, n);
	holds(want);
	mw_buf_tsv(&b, in, n);
	holds(want);
	mw_buf_csv(&b, in, n);
	holds(want);
	mw_buf_html(&b, in, n);
	holds(want);
	snprintf(quoted, sizeof(quoted), "\"%s\"", want);
	mw_buf_json(&b, in, n);
	holds(quoted);
	mw_buf_text(&b, in, n);
	holds(in);
}

TEST(invalid_utf8)
{
	static const char *const valid[] = {
		"\xc2\x80",           "\xdf\xbf",         "\xe0\xa0\x80",     "\xed\x9f\xbf",
		"\xee\x80\x80",       "\xef\xbf\xbf",     "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
		"gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x92\xa9",
	};

	for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		utf8_becomes(valid[i], valid[i]);
	utf8_becomes("\x80", FFFD);
	utf8_becomes("a\xff\xfe.", "a" FFFD FFFD ".");
	utf8_becomes("\xc3", FFFD); /* cut off at the end */
	utf8_becomes("\xe2\x82", FFFD);
	utf8_becomes("\xf0\x9f\x92", FFFD);
	utf8_becomes("\xe2\x82x", FFFD "x"); /* and in the middle */
	utf8_becomes("\xc0\xaf", FFFD FFFD); /* overlong slash */
	utf8_becomes("\xe0\x80\xaf", FFFD FFFD FFFD);
	utf8_becomes("\xf0\x80\x80\xaf", FFFD FFFD FFFD FFFD);
	utf8_becomes("\xed\xa0\x80", FFFD FFFD FFFD); /* a surrogate */
	utf8_becomes("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD); /* above U+10FFFF */
	utf8_becomes("\xf5", FFFD);
	utf8_becomes("\xe2\xe2\x82\xac", FFFD "\xe2\x82\xac");
	utf8_becomes("caf\xe9:1", "caf" FFFD ":1");
	/* nothing behind the end is looked at */
	mw_buf_utf8(&b, "\xe2\x82\xac", 2);
	holds(FFFD);
}

/* A decoder by the standard's table, to check all short byte sequences with. */
static bool valid_utf8(const unsigned char *s, size_t n)
{
	while (n) {
		uint32_t c = s[0];
		size_t len = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
		static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

		if (!len || len > n)
			return false;
		c &= len == 1 ? 0x7f : 0xffu >> (len + 1);
		for (size_t i = 1; i < len; i++) {
			if (s[i] >> 6 != 2)
				return false;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return false;
		s += len;
		n -= len;
	}
	return true;
}

TEST(all_short_sequences_become_valid)
{
	static const unsigned char set[] = {
		'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2,
		0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff,
	};
	unsigned n_valid = 0;

	for (unsigned v = 0; v < 20 * 20 * 20 * 20; v++) {
		char s[4] = { (char)set[v % 20], (char)set[v / 20 % 20], (char)set[v / 400 % 20],
			      (char)set[v / 8000] };

		b.n = 0;
		mw_buf_utf8(&b, s, 4);
		if (!valid_utf8((const unsigned char *)b.p, b.n))
			fail_msg("invalid for %02x%02x%02x%02x", s[0], s[1], s[2], s[3]);
		if (valid_utf8((const unsigned char *)s, 4)) {
			assert_int_equal(b.n, 4);
			assert_memory_equal(b.p, s, 4);
			n_valid++;
		}
	}
	assert_true(n_valid > 16);
}

TEST(long_names)
{
	size_t n = 100000;
	char *s = malloc(n);

	memset(s, '\n', n);
	mw_buf_tsv(&b, s, n);
	assert_int_equal(b.n, 2 * n);
	b.n = 0;
	memset(s, 0xff, n);
	mw_buf_json(&b, s, n);
	assert_int_equal(b.n, 3 * n + 2);
	assert_true(valid_utf8((unsigned char *)b.p, b.n));
	b.n = 0;
	memset(s, '"', n);
	mw_buf_csv(&b, s, n);
	assert_int_equal(b.n, 2 * n + 2);
	free(s);
}

TEST(json_has_its_commas)
{
	struct mw_buf text = { 0 };

	mw_json_open(&b, NULL, '{');
	mw_json_u64(&b, "a", 1);
	mw_json_known(&b, "b", 2, false);
	mw_json_i64(&b, "\nc", -3);
	mw_json_open(&b, "d", '[');
	mw_json_u64(&b, NULL, 4);
	mw_json_open(&b, "\n", '[');
	mw_buf_str(&b, "]");
	mw_json_bool(&b, NULL, true);
	mw_buf_str(&b, "]");
	mw_json_str(&b, "e", "\"{");
	mw_json_str(&b, "f", NULL);
	mw_json_text(&b, "g", "[,:", 2);
	mw_json_key(&b, "h");
	mw_json_open(&b, NULL, '{');
	mw_json_address(&b, "\ni", 0x7f);
	mw_json_seconds(&b, "j", 1.5);
	mw_json_tenths(&b, "k", 2.25);
	mw_json_tenths(&b, "l", -1);
	mw_buf_str(&text, "m\n");
	mw_json_take(&b, "n", &text);
	mw_json_take(&b, "o", &text);
	mw_buf_str(&b, "}}");
	holds("{\"a\":1,\"b\":null,\n\"c\":-3,\"d\":[4,\n[],true],\"e\":\"\\\"{\",\"f\":null,\"g\":\"[,\",\"h\":{\n"
	      "\"i\":\"0x7f\",\"j\":1.500,\"k\":2.3,\"l\":0.0,\"n\":\"m\\n\",\"o\":\"\"}}");
}
