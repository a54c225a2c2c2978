/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of memory: by the frames of a stack, and for the rows of a table. */
/* uses: src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/rows.c src/shared/report/group.c src/shared/report/columns.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c */
#include "unit.h"
#include "../../src/shared/report/columns.h"
#include "../../src/shared/report/kinded.h"
#include "fake_api.h"

#define RUBY "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define PARSER "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/json/ext/parser.so"

/* --- the table of patterns ------------------------------------------------------- */

static const char *const functions[] = {
#define OWNER(text, kind) text,
#define CALL(text, kind) text,
#define HINT(text, kind) text,
#define PASS(text) text,
#include "../../src/shared/report/kinds.def"
#undef OWNER
#undef CALL
#undef HINT
#undef PASS
};

static const char *const methods[] = {
#define METHOD(text, kind) text,
#define METHOD_HINT METHOD
#include "../../src/shared/report/kinds.def"
#undef METHOD
#undef METHOD_HINT
};

static const char *const texts[] = {
#define KIND(name, text) text,
#include "../../src/shared/report/kinds.def"
#undef KIND
};

/* Is everything that fits q caught by p, which comes before it? */
static bool covers(const char *p, const char *q)
{
	size_t n = strlen(p);

	return n && p[n - 1] == '*' ? !strncmp(p, q, n - 1) : !strcmp(p, q);
}

static void each_can_be_reached(const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *star = strchr(patterns[i], '*');

		assert_true(strlen(patterns[i]) > 2);
		if (star && star[1])
			fail_msg("%s: a star in the middle", patterns[i]);
		for (size_t k = 0; k < i; k++)
			if (covers(patterns[k], patterns[i]))
				fail_msg("%s is never asked: %s comes before it", patterns[i], patterns[k]);
	}
}

EACH(fake_clear, NULL);

TEST(each_pattern_can_be_reached)
{
	each_can_be_reached(functions, sizeof(functions) / sizeof(*functions));
	each_can_be_reached(methods, sizeof(methods) / sizeof(*methods));
}

TEST(texts_are_different)
{
	size_t n = sizeof(texts) / sizeof(*texts);

	assert_int_equal(n, MW_OF_N);
	for (size_t i = 0; i < n; i++) {
		assert_true(strlen(texts[i]) < MW_KIND_TEXT);
		assert_null(strpbrk(texts[i], "\"'<>&\t\n\\,"));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(texts[i], texts[k]);
	}
}

/* --- frames ---------------------------------------------------------------------- */

static struct mw_profile_frame frames[16];
static uint32_t depth;

static void frame(enum mw_kind kind, const char *name, const char *file)
{
	frames[depth++] = (struct mw_profile_frame){ .name = name, .file = file, .kind = kind };
}

static void c(const char *name)
{
	frame(MW_KIND_NATIVE, name, RUBY);
}

static void in(const char *file)
{
	frame(MW_KIND_NATIVE, "f", file);
}

static void method(const char *name)
{
	frame(MW_KIND_NATIVE, name, "");
}

static void line(void)
{
	frame(MW_KIND_RUBY, "Store#keep", "/srv/app/store.rb");
}

/* The kind of the frames so far, innermost first; then there are none. */
static void kind_is(const char *want)
{
	uint32_t chain[16], kind;
	struct mw_clues clues;
	size_t n;

	for (uint32_t i = 0; i < depth; i++)
		chain[i] = i;
	assert_true(mw_clues_make(&clues, depth));
	kind = mw_kind_of(&clues, frames, chain, depth);
	assert_string_equal(mw_interned(&clues.texts, kind, &n), want);
	/* each frame is known by now */
	assert_int_equal(mw_kind_of(&clues, frames, chain, depth), kind);
	mw_clues_free(&clues);
	depth = 0;
}

TEST(the_innermost_name_counts)
{
	c("libruby-3.1.so.3.1(+0x1f2a)"), c("ruby_xmalloc2"), c("rb_str_buf_new"), line();
	kind_is("string");
	c("libruby-3.1.so.3.1(+0x1f2a)"), c("rb_ary_store"), c("rb_hash_foreach"), c("rb_hash_keys"),
		line();
	kind_is("array");
	c("rb_hash_aset"), c("rb_hash_inspect"), line();
	kind_is("hash");
	c("libruby-3.1.so.3.1(+0x1f2a)"), c("rb_iseq_new_with_opt"), c("rb_mod_module_eval"),
		method("Module#module_eval"), line();
	kind_is("instruction sequence");
	c("ruby_xrealloc2"), c("rb_hash_foreach"), method("Hash#map"), line();
	kind_is("array");
	c("rb_int_positive_pow"), line();
	kind_is("number");
	/* nothing beyond the line that allocates */
	c("ruby_xmalloc"), line(), c("rb_str_buf_new");
	kind_is("other");
}

/* Arrays and hashes within a compiler or a table of symbols count as theirs. */
TEST(an_owner_has_all_of_it)
{
	c("rb_hash_aset"), c("rb_iseq_compile_node"), line();
	kind_is("instruction sequence");
	c("rb_ary_store"), c("rb_str_intern"), method("String#to_sym"), line();
	kind_is("symbol table");
	c("rb_str_new"), c("rb_intern3"), c("rb_iseq_new_eval"), line();
	kind_is("symbol table"); /* the innermost owner */
	c("ruby_xrealloc"), c("_RNvNtCs9NmamDRlwxP_4yjit4core17regenerate_branch"), method("String#<<"),
		line();
	kind_is("JIT compiler");
	c("rb_st_insert"), c("_ZN4yjit4core15gen_branch_stub17h0123456789abcdefE"), line();
	kind_is("JIT compiler");
	c("rb_hash_aset"), c("rb_yjit_iseq_gen_entry_point"), line();
	kind_is("JIT compiler");
	c("rb_str_new"), method("String#*"), c("rb_iseq_new_eval"), line();
	kind_is("string");
	c("rb_str_new"), line(), c("rb_intern3");
	kind_is("string");
	c("rb_ary_store.part.0"), line();
	kind_is("array");
}

TEST(hints_are_for_want_of_more)
{
	c("rb_st_insert"), c("rb_hash_aset"), line();
	kind_is("hash");
	c("rb_st_insert"), method("Hash#[]="), line();
	kind_is("hash");
	c("rb_st_insert"), c("vm_sendish"), line();
	kind_is("internal table");
	frame(MW_KIND_NATIVE, "strdup", LIBC), line();
	kind_is("C library");
	frame(MW_KIND_NATIVE, "strdup", LIBC), c("rb_st_insert"), line();
	kind_is("C library");
	frame(MW_KIND_NATIVE, "strdup", LIBC), c("rb_io_modestr_fmode"), line();
	kind_is("file or process");
}

TEST(methods_in_c)
{
	c("ruby_xmalloc"), method("String#<<"), line();
	kind_is("string");
	c("ruby_xmalloc"), method("String#to_sym"), line();
	kind_is("symbol table");
	c("ruby_xmalloc"), method("Kernel#require"), line();
	kind_is("instruction sequence");
	c("ruby_xmalloc"), method("Store.keep"), method("String#<<"), line();
	kind_is("other");
	c("ruby_xmalloc"), method("Class#new"), line();
	kind_is("instance variables");
	c("rb_data_typed_object_zalloc"), method("Class#new"), line();
	kind_is("object of C code");
	c("ruby_xmalloc"), method("Class#inherited"), method("String#<<"), line();
	kind_is("class or module");
	method("(C function)"), line();
	kind_is("other");
	frame(MW_KIND_NATIVE, "(native code)", ""), method("String#<<"), line();
	kind_is("string");
	kind_is("other"); /* no frame at all */
	line();
	kind_is("other");
	frame(MW_KIND_SPECIAL, "(gone)", "");
	kind_is("other");
}

TEST(extensions_and_libraries)
{
	c("ruby_xmalloc2"), in(PARSER), method("JSON::Ext::Parser#parse"), line();
	kind_is("json/ext/parser.so");
	c("rb_str_buf_new"), in(PARSER), line();
	kind_is("string");
	frame(MW_KIND_NATIVE, "_Znwm", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"), in(PARSER), line();
	kind_is("json/ext/parser.so");
	c("rb_data_typed_object_zalloc"), in("/g/gems/redcarpet-3.3.2/lib/redcarpet.so"), line();
	kind_is("redcarpet.so");
	in("/g/extensions/x86_64-linux/3.1.0/redcarpet-3.3.2/redcarpet.so"), line();
	kind_is("redcarpet-3.3.2/redcarpet.so");
	in("/usr/lib/x86_64-linux-gnu/ruby/vendor_ruby/3.1.0/ox/ox.so"), line();
	kind_is("ox/ox.so");
	in("/usr/lib/x86_64-linux-gnu/libcrypto.so.3"),
		in("/usr/lib/x86_64-linux-gnu/ruby/3.1.0/openssl.so"), line();
	kind_is("libcrypto.so.3");
	in("/opt/lib/libx.so"), line();
	kind_is("libx.so");
	in("/a b/\"<,>\t.so"), line();
	kind_is("_____.so");
	frame(MW_KIND_NATIVE, "rb_ary_push", "/opt/ruby/bin/ruby"), line();
	kind_is("array");
	frame(MW_KIND_NATIVE, "rb_ary_push", "ruby3.4"), line();
	kind_is("array");
}

/* glibc's, musl's, and musl's as the linker that a program names. */
TEST(the_c_library)
{
	static const char *const files[] = { LIBC, "/lib/libc.musl-x86_64.so.1",
					     "/lib/ld-musl-x86_64.so.1" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		frame(MW_KIND_NATIVE, "strdup", files[i]), in(PARSER), line();
		kind_is("json/ext/parser.so");
		frame(MW_KIND_NATIVE, "opendir", files[i]), line();
		kind_is("C library");
	}
}

TEST(a_long_name_by_its_end)
{
	char file[400] = "/x/";

	memset(file + 3, 'y', 300);
	strcpy(file + 303, ".so");
	in(file), line();
	kind_is(file + 306 - (MW_KIND_TEXT - 1));
}

/* --- a table --------------------------------------------------------------------- */

static struct mw_stacked_frame stacked_frames[] = {
	{ .name = NULL }, /* number 0: no frame */
	{ .name = "rb_str_buf_new", .file = RUBY, .kind = MW_KIND_NATIVE },
	{ .name = "rb_ary_store", .file = RUBY, .kind = MW_KIND_NATIVE },
	{ .name = "keep", .file = "/a.rb", .line = 3, .kind = MW_KIND_RUBY },
};
static uint32_t chain[] = { 1, 3, 2, 3, 3 };
static struct mw_stacked stacked[8];
/* /a.rb:3 is three quarters string, one array; /b.rb:4 is all array; /c.rb:5 and a library have no stack. */
static void make(void)
{
	struct mw_row *r;

	r = fake_row(MW_KIND_RUBY, 1001, "/a.rb:3");
	r->id = 1, r->live_bytes = 801, r->live = 9, r->allocations = 11, r->frees = 2, r->freed = 200;
	r->life_sum = 7, r->life_max = 5, r->growth = 801;
	r = fake_row(MW_KIND_RUBY, 500, "/b.rb:4");
	r->id = 2, r->live_bytes = 0, r->live = 0, r->growth = 0, r->allocations = 5, r->frees = 5,
	r->freed = 500;
	r = fake_row(MW_KIND_RUBY, 70, "/c.rb:5");
	r->id = 3, r->live_bytes = 70, r->live = 1, r->allocations = 1, r->growth = 70;
	r = fake_row(MW_KIND_NATIVE, 30, "/usr/lib/libx.so.1(f+0x1) [0x7f]");
	r->id = 4, r->file_len = 18, r->live_bytes = 30, r->live = 1, r->allocations = 1, r->growth = 30;
	stacked[0] = (struct mw_stacked){ 1, 0, 2, 600, 6, 600, 6, 600, 6, 6, 0, 0, 0, 0, 0, 0 };
	stacked[1] = (struct mw_stacked){ 1, 2, 2, 200, 2, 200, 2, 200, 2, 2, 0, 0, 0, 0, 0, 0 };
	stacked[2] = (struct mw_stacked){ 2, 2, 2, 500, 5, 0, 0, 500, 5, 0, 0, 0, 0, 0, 0, 0 };
	fake_stacks = (struct mw_stacks){
		.n = 3,
		.n_frames = 4,
		.n_chain = 5,
		.v = stacked,
		.frames = stacked_frames,
		.chain = chain,
		.rate = 65536
	};
}

static const struct mw_row *row_of(const struct mw_result *res, const char *location)
{
	for (size_t i = 0; i < res->n; i++)
		if (!strcmp(res->rows[i].location, location))
			return &res->rows[i];
	fail_msg("no row of %s", location);
	return NULL;
}

static void row_is(const struct mw_result *res, const char *location, const char *kind, uint32_t share,
		   uint32_t samples)
{
	const struct mw_row *r = row_of(res, location);

	assert_string_equal(r->top_kind, kind);
	assert_int_equal(r->top_share, share);
	assert_int_equal(r->kind_samples, samples);
}

static void same_sums(const struct mw_row *a, const struct mw_row *b)
{
	assert_int_equal(a->total, b->total);
	assert_int_equal(a->allocations, b->allocations);
	assert_int_equal(a->frees, b->frees);
	assert_int_equal(a->freed, b->freed);
	assert_int_equal(a->live_bytes, b->live_bytes);
	assert_int_equal(a->live, b->live);
	assert_int_equal(a->life_sum, b->life_sum);
	assert_int_equal(a->life_max, b->life_max);
	assert_int_equal(a->growth, b->growth);
	assert_int_equal(a->kind_samples, b->kind_samples);
	assert_string_equal(a->top_kind, b->top_kind);
	assert_int_equal(a->top_share, b->top_share);
}

TEST(kinds_of_rows)
{
	const struct mw_query q = { .sort = -1, .kinds = true };
	struct mw_result res;

	make();
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	row_is(&res, "/a.rb:3", "string", 750, 8);
	row_is(&res, "/b.rb:4", "array", 1000, 5);
	row_is(&res, "/c.rb:5", MW_NO_STACK, 0, 0);
	row_is(&res, "/usr/lib/libx.so.1(f+0x1) [0x7f]", "libx.so.1", 1000, 0);
	assert_string_equal(res.sum.top_kind, "string");
	assert_int_equal(res.sum.top_share, 667); /* 601 of 901 */
	mw_result_free(&res, &fake_api);
	assert_int_equal(fake_out, 0);
}

TEST(kinds_add_up)
{
	static const enum mw_group groups[] = { MW_GROUP_KIND, MW_GROUP_FILE, MW_GROUP_GEM };
	struct mw_query q = { .sort = -1, .kinds = true };
	struct mw_result lines, res;

	make();
	assert_int_equal(mw_result_make(&lines, &fake_api, &q), 0);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		q.group = groups[i];
		assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
		same_sums(&res.sum, &lines.sum);
		if (q.group == MW_GROUP_KIND) {
			assert_int_equal(res.n, 4);
			row_is(&res, "string", "string", 1000, 6);
			assert_int_equal(row_of(&res, "string")->live_bytes, 601);
			assert_int_equal(row_of(&res, "array")->live_bytes, 200);
			assert_int_equal(row_of(&res, "array")->total, 750);
			row_is(&res, MW_NO_STACK, MW_NO_STACK, 0, 0);
			assert_int_equal(row_of(&res, "libx.so.1")->live_bytes, 30);
		}
		mw_result_free(&res, &fake_api);
	}
	mw_result_free(&lines, &fake_api);
	assert_int_equal(fake_out, 0);
}

TEST(one_kind)
{
	struct mw_query q = { .sort = -1, .kinds = true, .kind = "ARRAY", .kind_len = 5 };
	struct mw_result res;

	make();
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	assert_int_equal(res.n, 2);
	assert_int_equal(row_of(&res, "/a.rb:3")->live_bytes, 200);
	assert_int_equal(row_of(&res, "/a.rb:3")->id, 1);
	row_is(&res, "/b.rb:4", "array", 1000, 5);
	assert_int_equal(res.sum.live_bytes, 200);
	mw_result_free(&res, &fake_api);
	q.kind = "arra", q.kind_len = 4;
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	assert_int_equal(res.n, 0);
	mw_result_free(&res, &fake_api);
	q = (struct mw_query){ .sort = mw_column_find("kind", 4), .kinds = true };
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	assert_string_equal(res.rows[0].location, "/b.rb:4");
	assert_string_equal(res.rows[3].location, "/c.rb:5");
	mw_result_free(&res, &fake_api);
	assert_int_equal(fake_out, 0);
}

/* The counters may say what samples don't: nothing allocated since the reset, but freed. */
TEST(freed_since_the_reset)
{
	const struct mw_query q = { .sort = -1, .kinds = true, .group = MW_GROUP_KIND };
	struct mw_result res;

	make();
	fake_rows[0].total = fake_rows[0].allocations = 0;
	fake_rows[0].growth = -5000;
	fake_rows[0].frees = UINT64_MAX;
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	assert_int_equal(res.sum.growth, -4900);
	assert_true(res.sum.frees == UINT64_MAX);
	assert_int_equal(res.sum.live_bytes, 901);
	mw_result_free(&res, &fake_api);
}

static struct mw_stacks *no_stacks(uint32_t from, uint32_t to)
{
	(void)from;
	(void)to;
	return NULL;
}

TEST(without_stacks)
{
	struct mw_api api = fake_api;
	struct mw_query q = { .sort = -1, .kinds = true };
	struct mw_result res;
	struct mw_buf b = { 0 };

	make();
	api.stacks = no_stacks;
	for (int kinds = 0; kinds < 2; kinds++) {
		q.kinds = kinds;
		q.group = MW_GROUP_LINE;
		assert_int_equal(mw_result_make(&res, &api, &q), 0);
		assert_int_equal(res.n, 4);
		mw_render(&b, &res, MW_FORMAT_TSV);
		mw_buf_add(&b, "", 1);
		assert_int_equal(strstr(b.p, "kind_samples") != NULL, kinds);
		b.n = 0;
		mw_result_free(&res, &api);
		q.group = MW_GROUP_KIND;
		assert_int_equal(mw_result_make(&res, &api, &q), 0);
		assert_int_equal(res.n, 1);
		assert_string_equal(res.rows[0].location, MW_NO_STACK);
		assert_int_equal(res.rows[0].live_bytes, 901);
		mw_result_free(&res, &api);
	}
	mw_buf_free(&b);
	assert_int_equal(fake_out, 0);
}
