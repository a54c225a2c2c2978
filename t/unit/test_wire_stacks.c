/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampled stacks from one process to another, and those of several processes as one. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/family/family.h"
#include "../../src/shared/report/profile.h"
#include "fake_api.h"

static struct mw_buf b;
static struct mw_wire w, other;

static void teardown(void)
{
	mw_sum_end();
	mw_buf_free(&b);
	mw_wire_free(&w);
	mw_wire_free(&other);
}

/* Of n bytes and no more, so that a sanitizer sees a read behind them. */
static int read_n(struct mw_wire *to, const char *text, size_t n)
{
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	if (n)
		memcpy(copy, text, n);
	mw_wire_free(to);
	return mw_wire_read(to, copy, n);
}

static struct mw_stacked_frame frames[] = {
	{ .name = NULL }, /* number 0: no frame */
	{ .name = "keep", .file = "/a\t\n.rb", .line = 3, .kind = MW_KIND_RUBY },
	{ .name = "Integer#times", .file = "", .kind = MW_KIND_NATIVE },
	{ .name = "", .file = "", .address = 0x7f00, .kind = MW_KIND_NATIVE },
	{ .name = "\xff\\", .file = "", .line = UINT32_MAX, .kind = MW_KIND_RUBY },
	{ .name = "keep", .file = "/a\t\n.rb", .line = 4, .kind = MW_KIND_RUBY },
};
static uint32_t chain[] = { 3, 1, 2, 4, 5 };
static struct mw_stacked stacked[4];

/* Two stacks of the location with id 7, one of id 9; one of a location that isn't in the table. */
static void make(void)
{
	fake_row(MW_KIND_SPECIAL, 1, "(other)")->id = 2;
	fake_row(MW_KIND_RUBY, 6000, "/a.rb:3")->id = 9;
	fake_row(MW_KIND_RUBY, 5000, "/a.rb:4")->id = 7;
	stacked[0] = (struct mw_stacked){ 7, 0, 4,     1000.4, 10.25, 500.6, 0.001, 1000.4,
					  3, 2, 250.6, 1,      80.6,  3200,  5,     5 };
	stacked[1] = (struct mw_stacked){ 7,          4, 1, 1e300, 0.0 / 0.0, -5, 0, 1e300,
					  UINT32_MAX, 0, 0, 0,     0,         0,  0, 0 };
	stacked[2] = (struct mw_stacked){ 9, 1, 2, 7, 1, 7, 1, 7, 1, 1, 0, 0, 0, 0, 0, 0 };
	stacked[3] = (struct mw_stacked){ 8, 1, 2, 7, 1, 7, 1, 7, 1, 1, 0, 0, 0, 0, 0, 0 };
	fake_stacks = (struct mw_stacks){
		.n = 4, .n_frames = 6, .n_chain = 5, .v = stacked, .frames = frames, .chain = chain, .rate = 65536
	};
	fake_stats.stacks_rate = 65536;
	fake_stats.stacks = 4;
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_STACKS, NULL, 0), 0);
	assert_int_equal(fake_out, 0);
}

static void same_frame(const struct mw_stacked_frame *f, const char *name, const char *file,
		       uint32_t line, enum mw_kind kind)
{
	assert_string_equal(f->name, name);
	assert_string_equal(f->file, file);
	assert_int_equal(f->line, line);
	assert_int_equal(f->kind, kind);
	assert_true(f->address == 0);
}

EACH(fake_clear, teardown);

TEST(stacks_arrive)
{
	make();
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_int_equal(w.n, 3);
	assert_true(w.stats.stacks_rate == 65536 && w.stats.stacks == 4);
	assert_int_equal(w.frames_n, 5); /* number 0 is in no stack */
	same_frame(&w.frames[0], "keep", "/a\t\n.rb", 3, MW_KIND_RUBY);
	same_frame(&w.frames[1], "Integer#times", "", 0, MW_KIND_NATIVE);
	same_frame(&w.frames[2], "(native code)", "", 0, MW_KIND_NATIVE);
	same_frame(&w.frames[3], "\xff\\", "", UINT32_MAX, MW_KIND_RUBY);
	same_frame(&w.frames[4], "keep", "/a\t\n.rb", 4, MW_KIND_RUBY);
	assert_int_equal(w.stacks_n, 3);
	assert_int_equal(w.stacks[0].id, 2); /* its row's number */
	assert_int_equal(w.stacks[0].depth, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(w.chain[w.stacks[0].first + i], chain[i] - 1);
	assert_true(w.stacks[0].bytes == 1000 && w.stacks[0].blocks == 10.25);
	assert_true(w.stacks[0].live_bytes == 501 && w.stacks[0].live_blocks == 0.001);
	assert_true(w.stacks[0].samples == 3 && w.stacks[0].live_samples == 2);
	assert_true(w.stacks[0].born_bytes == 251 && w.stacks[0].born_samples == 1);
	assert_true(w.stacks[0].objects == 81 && w.stacks[0].object_bytes == 3200 &&
		    w.stacks[0].object_samples == 5);
	assert_int_equal(w.stacks[0].label, 5); /* a frame's number, plus 1 */
	assert_int_equal(w.stacks[1].label, 0);
	assert_false(w.grown);
	assert_true(w.stacks[1].bytes == 1e18 && w.stacks[1].blocks == 0 && w.stacks[1].live_bytes == 0);
	assert_true(w.stacks[1].samples == UINT32_MAX);
	assert_int_equal(w.stacks[2].id, 1);
}

/* Of one location, its stacks and their frames alone. */
TEST(stacks_of_one)
{
	make();
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_AT, "/a.rb:3", 7), 0);
	assert_int_equal(fake_out, 0);
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_int_equal(w.n, 1);
	assert_int_equal(w.stacks_n, 1);
	assert_int_equal(w.stacks[0].id, 0);
	assert_int_equal(w.frames_n, 2);
	same_frame(&w.frames[w.chain[0]], "keep", "/a\t\n.rb", 3, MW_KIND_RUBY);
	same_frame(&w.frames[w.chain[1]], "Integer#times", "", 0, MW_KIND_NATIVE);
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_AT, "/no.rb:3", 8), 0);
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_true(!w.n && !w.stacks_n && !w.frames_n);
}

static bool grow(struct mw_snapshot *table, const void *ctx)
{
	for (size_t i = 0; i < table->n; i++)
		table->rows[i].growth = *(const int64_t *)ctx;
	return true;
}

/* The growth of a range, and what was born in it. */
TEST(growth_of_a_range)
{
	static const int64_t each = -7, total = INT64_MIN;
	const struct mw_profile_how how = {
		.ranged = true, .from = 12, .to = 30, .set_growth = grow, .ctx = &each
	};

	make();
	b.n = 0;
	assert_int_equal(mw_wire_write_grown(&b, &fake_api, &how, &total), 0);
	assert_true(fake_stacks_from == 12 && fake_stacks_to == 30);
	assert_int_equal(fake_out, 0);
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_true(w.grown && w.grown_total == INT64_MIN);
	assert_int_equal(w.n, 3);
	for (size_t i = 0; i < w.n; i++)
		assert_true(w.rows[i].growth == -7);
	assert_int_equal(w.stacks_n, 3);
	b.n = 0;
	assert_int_equal(mw_wire_write_grown(&b, &fake_api, &how, NULL), 0);
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_false(w.grown);
}

TEST(no_memory)
{
	fake_no_memory = true;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_STACKS, NULL, 0), -1);
	fake_no_memory = false;
	assert_int_equal(fake_out, 0);
}

/* --- what no process of this version wrote -------------------------------------------- */

/* No index of the table that was taken leads nowhere. */
static void sound(void)
{
	for (size_t i = 0; i < w.frames_n; i++)
		assert_true(w.frames[i].name && w.frames[i].file && w.frames[i].kind <= MW_KIND_SPECIAL);
	for (size_t i = 0; i < w.stacks_n; i++) {
		const struct mw_stacked *s = &w.stacks[i];

		assert_true(s->id < w.n && (s->depth || s->label) && s->label <= w.frames_n &&
			    s->first + (size_t)s->depth <= w.chain_n);
		for (uint32_t k = 0; k < s->depth; k++)
			assert_true(w.chain[s->first + k] < w.frames_n);
	}
}

static void sums(const struct mw_wire *x, const struct mw_wire *y)
{
	struct mw_part parts[2] = { { .wire = x }, { .wire = y } };
	const struct mw_api *api = mw_sum_api(parts, y ? 2 : 1, &fake_api);
	struct mw_profile p;
	uint64_t live = 0, total = 0;

	assert_non_null(api);
	assert_true(mw_profile_make(&p, api, &(struct mw_profile_how){ 0 }));
	for (size_t i = 0; i < p.snapshot->n; i++) {
		live += p.snapshot->rows[i].live_bytes;
		total += p.snapshot->rows[i].total;
	}
	for (size_t i = 0; i < p.n_stacks; i++) {
		live -= p.stacks[i].bytes[MW_BY_LIVE];
		total -= p.stacks[i].bytes[MW_BY_TOTAL];
	}
	assert_true(live == 0 && total == 0); /* modulo 2^64 */
	mw_profile_free(&p, api);
	mw_sum_end();
}

static void take_or_leave(const char *text, size_t n)
{
	static const struct mw_wire none;

	if (read_n(&w, text, n)) {
		assert_memory_equal(&w, &none, sizeof(w));
		return;
	}
	sound();
	sums(&w, NULL);
}

TEST(cut_anywhere)
{
	make();
	for (size_t n = 0; n <= b.n; n++)
		take_or_leave(b.p, n);
}

TEST(each_byte_changed)
{
	static const char with[] = "0919\t\n#@=~\\-\xff";
	char *text;

	make();
	text = malloc(b.n);
	assert_non_null(text);
	for (size_t i = 0; i < b.n; i++)
		for (size_t k = 0; k < sizeof(with); k++) {
			memcpy(text, b.p, b.n);
			text[i] = with[k];
			take_or_leave(text, b.n);
		}
	free(text);
}

TEST(wrong_lines)
{
	static const char *const lines[] = {
		"@0\t1\t0\t0\t\n",                     /* of texts that come later */
		"=a\n@3\t1\t0\t0\t\n",                 /* a kind that there isn't */
		"=a\n@0\t4294967296\t0\t0\t\n",        /* a line too large */
		"=a\n@0\t1\t0\t1\t\n",                 /* a text that there isn't */
		"=a\tb\n",        /* two fields */
		"=a\n@0\t1\t0\t0\t0\t\n",              /* one field too many */
		"#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t0\t\n",   /* of frames that come later */
		"#3\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t\n",      /* of a row that there isn't */
		"=a\n@0\t1\t0\t0\t\n#3\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t0\t\n",
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t\n", /* no frame, nor a label */
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t2\t0\t\n", /* a label that there isn't */
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t1\t\n",
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t4294967296\t1\t0\t0\t0\t0\t0\t0\t0\t\n",
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t-1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t0\t\n",
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t0\t0",
		"~1\n",
		"~\t\n",
		"~1\t1\t\n",
		"~9223372036854775808\t\n",
	};
	static const char right[] =
		"=a\n@0\t1\t0\t0\t\n#0\t1\t1\t1\t1\t1\t1\t0\t0\t0\t0\t0\t0\t0\t0\t\n~-9223372036854775808\t\n";
	size_t table;

	make();
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_ALL, NULL, 0), 0);
	table = b.n;
	mw_buf_str(&b, right);
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	assert_int_equal(w.stacks_n, 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		b.n = table;
		mw_buf_str(&b, lines[i]);
		if (!read_n(&w, b.p, b.n))
			fail_msg("taken: %s", lines[i]);
	}
}

/* --- sums ------------------------------------------------------------------------------- */

/* Of the second process, whose frames have other numbers, one stack is the first one's. */
TEST(merged_by_texts)
{
	static uint32_t turned_chain[] = { 1, 2, 2 };
	static struct mw_stacked_frame turned[] = {
		{ .name = NULL },
		{ .name = "keep", .file = "/a\t\n.rb", .line = 4, .kind = MW_KIND_RUBY },
		{ .name = "new", .file = "", .kind = MW_KIND_NATIVE },
	};
	static struct mw_stacked more[] = { { 1, 0, 1, 100, 1, 50, 1, 100, 4, 1, 20, 1, 0, 0, 0, 0 },
					    { 1, 1, 2, 300, 3, 50, 1, 300, 4, 1, 0, 0, 0, 0, 0, 0 } };
	struct mw_part parts[2] = { { .wire = &w }, { .wire = &other } };
	const struct mw_api *api;
	struct mw_snapshot *table;
	struct mw_stacks *s;
	unsigned found = 0;

	make();
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	fake_clear();
	fake_row(MW_KIND_RUBY, 70, "/new.rb:1")->id = 0;
	fake_row(MW_KIND_RUBY, 400, "/a.rb:4")->id = 1;
	fake_stacks = (struct mw_stacks){
		.n = 2, .n_frames = 3, .n_chain = 3, .v = more, .frames = turned, .chain = turned_chain
	};
	fake_stats.stacks_rate = 131072;
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_STACKS, NULL, 0), 0);
	assert_int_equal(read_n(&other, b.p, b.n), 0);
	other.pid = w.pid + 1;

	api = mw_sum_api(parts, 2, &fake_api);
	assert_non_null(api);
	table = api->snapshot();
	s = api->stacks(0, 0);
	assert_non_null(s);
	assert_true(s->rate == 131072);
	assert_int_equal(s->n_frames, 7); /* one is in both; number 0 is none of theirs */
	assert_int_equal(s->n, 4);
	for (size_t i = 0; i < s->n; i++) {
		const struct mw_stacked_frame *inner = &s->frames[s->chain[s->v[i].first]];

		assert_true(s->v[i].id < table->n);
		if (s->v[i].depth != 1)
			continue;
		found++;
		assert_string_equal(table->rows[s->v[i].id].location, "/a.rb:4");
		assert_string_equal(inner->name, "keep");
		assert_int_equal(inner->line, 4);
		assert_true(s->v[i].live_bytes == 50 && s->v[i].live_samples == 1);
		assert_true(s->v[i].samples == UINT32_MAX); /* it stops there */
	}
	assert_int_equal(found, 1);
	api->stacks_free(s);
	mw_sum_end();
	sums(&w, &other);
}

/* A child's inherited counts are its parent's. Blocks that live in both count in both. */
TEST(inherited_counts_once)
{
	struct mw_part parts[2] = { { .wire = &w }, { .wire = &other, .inherits = true } };
	const struct mw_api *api;
	struct mw_stacks *s;

	make();
	assert_int_equal(read_n(&w, b.p, b.n), 0);
	fake_rows[1].fork_baseline.total = 6000;
	fake_rows[2].fork_baseline.total = 3750;
	b.n = 0;
	assert_int_equal(mw_wire_write(&b, &fake_api, MW_WIRE_STACKS, NULL, 0), 0);
	assert_int_equal(read_n(&other, b.p, b.n), 0);
	api = mw_sum_api(parts, 2, &fake_api);
	assert_non_null(api);
	s = api->stacks(0, 0);
	assert_non_null(s);
	assert_int_equal(s->n, 3);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].depth == 4) { /* a quarter of 5000 came after the fork */
			assert_true(s->v[i].bytes == 1250 && s->v[i].blocks == 10.25 * 1.25);
			assert_true(s->v[i].live_bytes == 1002 && s->v[i].live_samples == 4);
			assert_true(s->v[i].objects == 162 && s->v[i].object_bytes == 6400);
			assert_int_equal(s->v[i].object_samples, 10);
			assert_int_equal(s->v[i].samples, 6);
		} else if (s->v[i].depth == 2) { /* nothing of 6000 */
			assert_true(s->v[i].bytes == 7 && s->v[i].live_bytes == 14);
			assert_int_equal(s->v[i].samples, 1);
		}
	}
	api->stacks_free(s);
	mw_sum_end();
}
