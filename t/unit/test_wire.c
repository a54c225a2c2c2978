/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table from one process to another: it arrives as it was, or not at all. */
/* uses: @server */
#include <unistd.h>

#include "unit.h"
#include "../../src/server/report/wire.h"
#include "fake_api.h"

static struct mw_buf b;
static struct mw_wire w;

static void teardown(void)
{
	mw_buf_free(&b);
	mw_wire_free(&w);
}

/* Of n bytes and no more, so that a sanitizer sees a read behind them. */
static int read_n(const char *text, size_t n)
{
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	if (n)
		memcpy(copy, text, n);
	mw_wire_free(&w);
	return mw_wire_read(&w, copy, n);
}

static void nothing_is_left(void)
{
	static const struct mw_wire none;

	assert_memory_equal(&w, &none, sizeof(w));
}

static void arrives(enum mw_wire_what what, const char *location)
{
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, what, location, location ? strlen(location) : 0), 0);
	assert_int_equal(fake_out, 0);
	assert_int_equal(read_n(b.p, b.n), 0);
}

/* clang-format off */
#define ROW_FIELDS(X)                                                               \
	X(total) X(allocations) X(frees) X(freed) X(life_sum) X(life_max)           \
	X(live_bytes) X(live) X(overruns) X(overrun_size)                           \
	X(fork_baseline.total) X(fork_baseline.allocations) X(fork_baseline.frees)  \
	X(fork_baseline.freed) X(fork_baseline.life_sum) X(at)
/* another number in each: none may be taken for its neighbour */
#define FIGURES(X)                                                                  \
	X(total, 1) X(allocations, 2) X(freed, 3) X(frees, 4) X(live_bytes, 5)      \
	X(live, 6) X(locations, 7) X(locations_max, 8) X(retired, 9)                \
	X(tracker_bytes, 11) X(memory_max, 12) X(lost, 13) X(overruns, 14)          \
	X(double_frees, 15) X(unknown_frees, 16) X(heap_bytes, 17) X(resets, 18)    \
	X(locations_full, true) X(records_full, false) X(threads_full, true)        \
	X(paused, false) X(heap_known, true)
/* clang-format on */

static void same_row(const struct mw_row *got, const struct mw_row *want)
{
	assert_int_equal(got->location_len, want->location_len);
	assert_memory_equal(got->location, want->location, want->location_len);
	assert_int_equal(got->location[got->location_len], 0);
	assert_int_equal(got->file_len, want->file_len);
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->id, MW_ID_NONE);
	assert_int_equal(got->processes, 0);
	assert_true(got->growth == want->growth);
#define X(f) assert_true(got->f == want->f);
	ROW_FIELDS(X)
#undef X
}

/* Another number in each field: none may be taken for its neighbour. */
static void fill(struct mw_row *r, uint64_t from)
{
#define X(f) &r->f,
	uint64_t *const fields[] = { ROW_FIELDS(X) };
#undef X

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		*fields[i] = from - i;
	r->growth = (int64_t)(from - 99);
}

EACH(fake_clear, teardown);

TEST(rows_arrive)
{
	static const struct {
		enum mw_kind kind;
		const char *text;
		size_t n;
	} texts[] = {
		{ MW_KIND_RUBY, "/srv/a.rb:1", 11 },
		{ MW_KIND_RUBY, "", 0 },
		{ MW_KIND_SPECIAL, "(other)", 7 },
		{ MW_KIND_NATIVE, "/x.so(f+0x1) [0x7f00]", 21 },
		{ MW_KIND_RUBY, "\t", 1 },
		{ MW_KIND_RUBY, "\n", 1 },
		{ MW_KIND_RUBY, "\r\n\t\\", 4 },
		{ MW_KIND_RUBY, "\\", 1 },
		{ MW_KIND_RUBY, "\\\\n\\t", 5 },
		{ MW_KIND_RUBY, "/a\\n.rb:1", 9 },
		{ MW_KIND_RUBY, "+1\t2\t3\t\n+", 9 },
		{ MW_KIND_RUBY, "\xff\xfe\xc3(\xe2\x82:1", 8 },
		{ MW_KIND_RUBY, "\xed\xa0\x80\xf5\xc0\x80:9", 8 },
	};
	const size_t n = sizeof(texts) / sizeof(*texts);

	for (size_t i = 0; i < n; i++)
		fill(fake_row_n(texts[i].kind, 1, texts[i].text, texts[i].n),
		     i % 2 ? UINT64_MAX : 1000 * i + 16);
	arrives(MW_WIRE_ALL, NULL);
	assert_int_equal(w.n, n);
	assert_int_equal(w.lives_n, 0);
	for (size_t i = 0; i < n; i++)
		same_row(&w.rows[i], &fake_rows[i]);
}

/* Each byte that a path may have, alone and after a backslash. */
TEST(every_byte_arrives)
{
	char text[256][3];

	for (size_t first = 0; first < 256; first += 32) {
		fake_n = 0;
		for (size_t c = first ? first : 1; c < first + 32; c++) {
			text[c][0] = '\\';
			text[c][1] = (char)c;
			text[c][2] = '\0';
			fake_row_n(MW_KIND_RUBY, c, text[c], 2);
			fake_row_n(MW_KIND_RUBY, c, text[c] + 1, 1);
		}
		arrives(MW_WIRE_ALL, NULL);
		assert_int_equal(w.n, first ? 64 : 62);
		for (size_t i = 0; i < w.n; i++)
			same_row(&w.rows[i], &fake_rows[i]);
	}
}

TEST(growth_arrives)
{
	static const int64_t growths[] = { 0, 1, -1, 4096, -4096, INT64_MAX, INT64_MIN, INT64_MIN + 1 };

	for (size_t i = 0; i < 8; i++)
		fake_row(MW_KIND_RUBY, i, "/a.rb:1")->growth = growths[i];
	arrives(MW_WIRE_ALL, NULL);
	assert_int_equal(w.n, 8);
	for (size_t i = 0; i < 8; i++)
		assert_true(w.rows[i].growth == growths[i]);
}

TEST(figures_arrive)
{
#define X(f, v) .f = v,
	fake_stats = (struct mw_stats){ FIGURES(X).generation = UINT64_MAX, .forker = 4711,
					.life_unit = "gc", .ruby_lookup = "fast" };
#undef X
	fake_row(MW_KIND_RUBY, 5, "/a.rb:1");
	arrives(MW_WIRE_SELF, NULL);
	assert_int_equal(w.n, 0);
	assert_int_equal(w.pid, getpid());
	assert_true(w.ruby);
	assert_int_equal(w.stats.forker, 4711);
	assert_string_equal(w.stats.life_unit, "gc");
	assert_true(w.stats.generation == UINT64_MAX);
#define X(f, v) assert_int_equal(w.stats.f, v);
	FIGURES(X)
#undef X
	fake_stats = (struct mw_stats){
		.ruby_lookup = "none", .life_unit = "bytes", .records_full = true, .paused = true
	};
	arrives(MW_WIRE_SELF, NULL);
	assert_false(w.ruby);
	assert_string_equal(w.stats.life_unit, "bytes");
	assert_true(w.stats.records_full && w.stats.paused && !w.stats.locations_full &&
		    !w.stats.threads_full && !w.stats.heap_known);
	fake_stats = (struct mw_stats){ 0 };
	arrives(MW_WIRE_SELF, NULL);
	assert_false(w.ruby);
}

/* Of one location: its row, and each block's age instead of its generation; newest first. */
TEST(lives_arrive)
{
	fake_stats.generation = 10;
	fake_row(MW_KIND_RUBY, 5, "/a.rb:1");
	fill(fake_row(MW_KIND_RUBY, 6, "/b.rb:1"), 500);
	fake_lives[0] = (struct mw_live){ .addr = 64, .size = 100, .generation = 1, .id = 1 };
	fake_lives[1] =
		(struct mw_live){ .addr = UINTPTR_MAX, .size = UINT64_MAX, .generation = 9, .id = 1 };
	fake_lives[2] = (struct mw_live){ .addr = 32, .size = 7, .generation = 4, .id = 0 };
	fake_lives_n = 3;
	arrives(MW_WIRE_AT, "/b.rb:1");
	assert_int_equal(w.n, 1);
	same_row(&w.rows[0], &fake_rows[1]);
	assert_int_equal(w.lives_n, 2);
	assert_true(w.lives[0].addr == UINTPTR_MAX && w.lives[0].size == UINT64_MAX);
	assert_int_equal(w.lives[0].generation, 1);
	assert_int_equal(w.lives[1].addr, 64);
	assert_int_equal(w.lives[1].size, 100);
	assert_int_equal(w.lives[1].generation, 9);
	arrives(MW_WIRE_AT, "/nowhere.rb:1");
	assert_int_equal(w.n + w.lives_n, 0);
	assert_int_equal(w.pid, getpid());
}

TEST(no_memory)
{
	fake_no_memory = true;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_ALL, NULL, 0), -1);
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_AT, "/a.rb:1", 7), -1);
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_SELF, NULL, 0), 0); /* needs none */
	fake_no_memory = false;
	assert_int_equal(fake_out, 0);
	b.failed = true;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_SELF, NULL, 0), -1);
}

/* --- what no process of this version wrote ------------------------------------------ */

static void make_text(void)
{
	fake_stats.generation = 10;
	fill(fake_row(MW_KIND_RUBY, 6, "/b\t\n\\.rb:1"), 500);
	fake_lives[0] = (struct mw_live){ .addr = 64, .size = 100, .generation = 1, .id = 0 };
	fake_lives[1] = (struct mw_live){ .addr = 32, .size = 7, .generation = 4, .id = 0 };
	fake_lives_n = 2;
	arrives(MW_WIRE_AT, "/b\t\n\\.rb:1");
	assert_int_equal(w.n, 1);
	assert_int_equal(w.lives_n, 2);
}

/* A part is one only if it ends with a line: then less has arrived, and it can't be told. */
TEST(cut_anywhere)
{
	unsigned taken = 0;

	make_text();
	for (size_t n = 0; n < b.n; n++) {
		int ret = read_n(b.p, n);

		if (!ret) {
			assert_int_equal(b.p[n - 1], '\n');
			taken++;
		} else {
			assert_int_equal(ret, -1);
			nothing_is_left();
		}
	}
	assert_int_equal(taken, 3); /* behind the process's line, its row and its first block */
}

TEST(each_byte_changed)
{
	unsigned taken = 0, refused = 0;
	size_t version;

	make_text();
	version = (size_t)((char *)memchr(b.p, '\n', b.n) + 1 - b.p);
	for (size_t i = 0; i < b.n; i++) {
		char was = b.p[i];

		for (unsigned c = 0; c < 256; c++) {
			int ret;

			if ((char)c == was)
				continue;
			b.p[i] = (char)c;
			ret = read_n(b.p, b.n);
			if (ret) {
				nothing_is_left();
				refused++;
			} else {
				assert_true(i >= version);
				assert_true(w.n <= 3 && w.lives_n <= 2);
				for (size_t k = 0; k < w.n; k++) {
					assert_true(w.rows[k].kind <= MW_KIND_SPECIAL);
					assert_true(w.rows[k].file_len <= w.rows[k].location_len);
					assert_in_range((uintptr_t)w.rows[k].location, (uintptr_t)w.text,
							(uintptr_t)w.text + b.n - w.rows[k].location_len);
				}
				taken++;
			}
		}
		b.p[i] = was;
	}
	/* another digit and another letter are fine */
	assert_true(taken > 500 && refused > 10000);
}

/* Replaces the first `from` by `to`, and reads the result: -1 or 0. */
static int with(const char *from, const char *to)
{
	char *at = memmem(b.p, b.n, from, strlen(from));
	struct mw_buf other = { 0 };
	int ret;

	assert_non_null(at);
	mw_buf_add(&other, b.p, (size_t)(at - b.p));
	mw_buf_str(&other, to);
	at += strlen(from);
	mw_buf_add(&other, at, (size_t)(b.p + b.n - at));
	ret = read_n(other.p, other.n);
	if (ret)
		nothing_is_left();
	mw_buf_free(&other);
	return ret;
}

TEST(other_versions)
{
	make_text();
	assert_int_equal(with("table 10\n", "table 10\n"), 0);
	assert_int_equal(with("table 10\n", "table 1\n"), -1);
	assert_int_equal(with("table 10\n", "table 100\n"), -1);
	assert_int_equal(with("table 10\n", "table \n"), -1);
	assert_int_equal(with("table 10\n", "table 10\r\n"), -1);
	assert_int_equal(with("mwrap", "MWRAP"), -1);
	assert_int_equal(read_n("", 0), -1);
	nothing_is_left();
	assert_int_equal(read_n("<html>not found</html>\n", 23), -1);
	nothing_is_left();
	assert_int_equal(mw_wire_read(&w, NULL, 0), -1);
	nothing_is_left();
}

/* A row has these in turn: kind, file_len, total 500, ... growth -> 401, see fill(). */
TEST(numbers)
{
	make_text();
	assert_int_equal(with("\t500\t", "\t18446744073709551615\t"), 0);
	assert_true(w.rows[0].total == UINT64_MAX);
	assert_int_equal(with("\t500\t", "\t00000000000000000500\t"), 0);
	assert_int_equal(w.rows[0].total, 500);
	assert_int_equal(with("\t500\t", "\t18446744073709551616\t"), -1);
	assert_int_equal(with("\t500\t", "\t99999999999999999999\t"), -1);
	assert_int_equal(with("\t500\t", "\t100000000000000000000\t"), -1);
	assert_int_equal(with("\t500\t", "\t000000000000000000500\t"), -1);
	assert_int_equal(with("\t500\t", "\t\t"), -1);
	assert_int_equal(with("\t500\t", "\t-1\t"), -1);
	assert_int_equal(with("\t500\t", "\t+1\t"), -1);
	assert_int_equal(with("\t500\t", "\t 1\t"), -1);
	assert_int_equal(with("\t500\t", "\t0x5\t"), -1);
	assert_int_equal(with("\t500\t", "\t5.0\t"), -1);
	assert_int_equal(with("\t500\t", "\t"), -1);
	assert_int_equal(with("\t500\t", "\t500\t500\t"), -1);
	/* growth */
	assert_int_equal(with("\t401\t", "\t-9223372036854775808\t"), 0);
	assert_true(w.rows[0].growth == INT64_MIN);
	assert_int_equal(with("\t401\t", "\t9223372036854775807\t"), 0);
	assert_true(w.rows[0].growth == INT64_MAX);
	assert_int_equal(with("\t401\t", "\t9223372036854775808\t"), -1);
	assert_int_equal(with("\t401\t", "\t-9223372036854775809\t"), -1);
	assert_int_equal(with("\t401\t", "\t--1\t"), -1);
	assert_int_equal(with("\t401\t", "\t-\t"), -1);
	/* the location, "/b\\t\\n\\\\.rb:1": without what would have been escaped, or escapes of no kind */
	assert_int_equal(with("/b\\t", "/b\\r"), 0);
	assert_int_equal(with("/b\\t", "/b\t"), -1);
	assert_int_equal(with("/b\\t", "/b\r"), -1);
	assert_int_equal(with("/b\\t", "/b\\x"), -1);
	assert_int_equal(with("/b\\t", "/b\\\n"), -1);
	*(char *)memmem(b.p, b.n, "/b\\t", 4) = '\0';
	assert_int_equal(read_n(b.p, b.n), -1);
	*(char *)memmem(b.p, b.n, "\0b\\t", 4) = '/';
	/* kind and file_len: within the location */
	assert_int_equal(with("\n0\t8\t500", "\n1\t8\t500"), 0);
	assert_int_equal(with("\n0\t8\t500", "\n2\t8\t500"), 0);
	assert_int_equal(with("\n0\t8\t500", "\n3\t8\t500"), -1);
	assert_int_equal(with("\n0\t8\t500", "\n4294967296\t8\t500"), -1);
	assert_int_equal(with("\n0\t8\t500", "\n0\t10\t500"), 0);
	assert_int_equal(with("\n0\t8\t500", "\n0\t11\t500"), -1);
	assert_int_equal(with("\n0\t8\t500", "\n0\t4294967296\t500"), -1);
	assert_int_equal(with("\n0\t8\t500", "\n0\t4294967304\t500"), -1);
}

TEST(self_arrives)
{
	struct mw_self self = { .rss = UINT64_MAX, .kind = "grows", .rate = INT64_MIN, .n = MW_SELF_N };
	const char *sentence = "Grows by\t1 MB:\n\\ \xc3\xa4.";

	self.sentence = sentence;
	for (uint32_t i = 0; i < MW_SELF_N; i++)
		self.v[i] = (struct mw_spot){ 20 * i + 3, i % 2 ? UINT32_MAX : i, 1000 + i };
	assert_int_equal(mw_wire_write_self(&b, &fake_api, &self), 0);
	assert_int_equal(read_n(b.p, b.n), 0);
	assert_int_equal(w.n, 0);
	assert_true(w.self.rss == UINT64_MAX);
	assert_true(w.self.rate == INT64_MIN);
	assert_string_equal(w.self.kind, "grows");
	assert_string_equal(w.self.sentence, sentence);
	assert_int_equal(w.self.n, MW_SELF_N);
	for (size_t i = 0; i < MW_SELF_N; i++) {
		assert_int_equal(w.self.v[i].t, self.v[i].t);
		assert_int_equal(w.self.v[i].rss, self.v[i].rss);
		assert_int_equal(w.self.v[i].live, self.v[i].live);
	}
	/* one that says nothing */
	self = (struct mw_self){ 0 };
	b.n = 0;
	assert_int_equal(mw_wire_write_self(&b, &fake_api, &self), 0);
	assert_int_equal(read_n(b.p, b.n), 0);
	assert_null(w.self.sentence);
	assert_int_equal(w.self.n, 0);
	assert_string_equal(w.self.kind, "");
}

/* The text of a process's figures, and these lines. */
static int with_lines(const char *lines)
{
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_SELF, NULL, 0), 0);
	mw_buf_str(&b, lines);
	return read_n(b.p, b.n);
}

TEST(wrong_selves)
{
	static const char *const wrong[] = {
		"!\n",
		"!1\t2\tgrows\n",
		"!1\t2\tGROWS\t\n",
		"!1\t2\tabcdefghijklmnop\t\n", /* a kind that is too long */
		"!1\t2\tgrows\tno end",
		"!-1\t2\tgrows\t\n",
		"!1\t9223372036854775808\tgrows\t\n",
		"*1\t2\n",
		"*1\t2\t4294967296\t\n",
		"*1\t2\t3\t\n*1\t2\t3\t\n", /* time stands still */
		"*2\t2\t3\t\n*1\t2\t3\t\n",
	};
	struct mw_buf many = { 0 };

	assert_int_equal(with_lines("!1\t-2\t\t\n*1\t2\t3\t\n*2\t2\t3\t\n"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(with_lines(wrong[i]), -1);
		nothing_is_left();
	}
	for (int i = 1; i <= MW_SELF_N + 1; i++)
		mw_buf_fmt(&many, "*%d\t2\t3\t\n", i);
	mw_buf_add(&many, "", 1);
	assert_int_equal(with_lines(many.p), -1);
	nothing_is_left();
	mw_buf_free(&many);
}

/* Nothing but random lines of what is in such texts. */
TEST(random_texts)
{
	static const char *const pieces[] = {
		"0\t", "1\t",
		"7\t", "18446744073709551615\t",
		"+",   "-",
		"\n",  "\\",
		"\t",  "!",
		"*",   "=",
		"@",   "#",
		"x",   "\\n",
		"\0",  "0\t0\t0\t0\t0\t0\t0\t0\t"
	};
	unsigned seed = 7, taken = 0;

	for (int round = 0; round < 30000; round++) {
		b.n = 0;
		mw_buf_str(&b, "mwrap table 10\n");
		for (int i = 0; i < 37; i++)
			mw_buf_str(&b, "1\t");
		mw_buf_str(&b, "\n");
		for (unsigned i = (unsigned)rand_r(&seed) % 12; i; i--) {
			const char *s =
				pieces[(unsigned)rand_r(&seed) % (sizeof(pieces) / sizeof(*pieces))];

			mw_buf_add(&b, s, *s ? strlen(s) : 1);
		}
		if (read_n(b.p, b.n))
			nothing_is_left();
		else
			taken++;
	}
	assert_true(taken > 1000); /* the first two lines are right */
}
