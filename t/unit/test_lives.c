/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the tools for recordings: the table of lives, arrays, refs, and the reader of JSON. */
/* uses: src/tools/replay/births.c src/tools/replay/mem.c src/tools/replay/refs.c src/tools/replay/read_json.c src/tools/replay/large_pages.c */
#include "unit.h"
#include "../../src/tools/replay/read_json.h"
#include "../../src/tools/replay/births.h"
#include "../../src/tools/replay/mem.h"
#include "../../src/tools/replay/large_pages.h"
#include "../../src/tools/replay/refs.h"

enum { BIRTHS = 200000 };

static uint32_t values[BIRTHS + 1]; /* 0: it isn't there */
static uint64_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % below;
}

/* Young ones die, old ones stay, as blocks do: the same as an array of all. */
TEST(test_lives)
{
	struct mw_lives l = { 0 };
	uint32_t v;
	size_t n = 0;

	assert_false(mw_lives_take(&l, 1, &v));
	assert_false(mw_lives_get(&l, 1, &v));
	for (uint32_t birth = 1; birth <= BIRTHS; birth++) {
		values[birth] = 1 + any(UINT32_MAX);
		assert_true(mw_lives_add(&l, birth, values[birth]));
		n++;
		for (unsigned i = any(3); i > 0; i--) {
			uint32_t old = any(8) ? birth - any(birth < 40 ? birth : 40) : 1 + any(birth);
			bool there = values[old] != 0;

			assert_int_equal(mw_lives_get(&l, old, &v), there);
			assert_true(!there || v == values[old]);
			assert_int_equal(mw_lives_take(&l, old, &v), there);
			assert_true(!there || v == values[old]);
			values[old] = 0;
			n -= there;
			assert_int_equal(l.n, n);
		}
	}
	assert_true(n > 1000);
	for (uint32_t birth = 1; birth <= BIRTHS; birth++)
		assert_int_equal(mw_lives_take(&l, birth, &v), values[birth] != 0);
	assert_int_equal(l.n, 0);
	mw_lives_free(&l);
}

TEST(test_births_of_all_sizes)
{
	const uint32_t births[] = { 1, 7, 8, 1u << 16, 1u << 31, UINT32_MAX - 1, UINT32_MAX };
	struct mw_lives l = { 0 };
	uint32_t v;

	for (uint32_t i = 0; i < 7; i++)
		assert_true(mw_lives_add(&l, births[i], i));
	for (uint32_t i = 0; i < 7; i++) {
		assert_true(mw_lives_get(&l, births[i], &v));
		assert_int_equal(v, i);
	}
	mw_lives_free(&l);
}

TEST(test_arrays)
{
	struct mw_array a = { 0 };

	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(mw_array_more(&a, sizeof(i)));
		((uint64_t *)a.p)[a.n++] = i;
	}
	for (uint64_t i = 0; i < a.n; i++)
		assert_int_equal(((uint64_t *)a.p)[i], i);
	mw_array_free(&a, sizeof(uint64_t));
	assert_null(a.p);
}

TEST(test_refs)
{
	struct mw_refs *r = mw_mem(sizeof(*r));
	const uint64_t refs[] = { 0, 1, 0xffff, 0x10000, (1u << MW_REF_BITS) - 1 };

	assert_non_null(r);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(*mw_refs_at(r, refs[i]), 0);
		*mw_refs_at(r, refs[i]) = i + 1;
	}
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(*mw_refs_at(r, refs[i]), i + 1);
	mw_refs_free(r);
	mw_mem_free(r, sizeof(*r));
}

TEST(test_pages)
{
	const struct mw_pages all[] = { { 1, 0 }, { 2, 32 }, { UINT32_MAX, UINT64_MAX } };
	uint8_t bytes[3 * MW_PAGES_BYTES];
	size_t n = 0;
	struct mw_pages_reader r = { 0, bytes, NULL };
	struct mw_pages p;

	for (unsigned i = 0; i < 3; i++)
		n += mw_pages_write(&all[i], i ? all[i - 1].birth : 0, bytes + n);
	r.end = bytes + n;
	for (unsigned i = 0; i < 3; i++) {
		assert_true(mw_pages_next(&r, &p));
		assert_int_equal(p.birth, all[i].birth);
		assert_int_equal(p.pages, all[i].pages);
	}
	assert_false(mw_pages_next(&r, &p));
	r = (struct mw_pages_reader){ 0, bytes, bytes + 1 };
	assert_false(mw_pages_next(&r, &p));
}

TEST(test_json)
{
	static const char *const good[] = {
		"{}", " {\"a\":1}\n", "{\"a\":[1,-2.5e+3,true,null,\"\\u00e9\\\"\"],\"b\":{\"c\":{}}}"
	};
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
		"{\"a\":01}",
		"{\"a\":1}x",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\\x\"}",
		"{\"a\":-}",
		"{\"a\":1.}",
		"{\"a\":tru}",
		"{\"a\":[1,]}",
		"{\"a\":\"\\u12g4\"}",
	};
	char deep[200];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(mw_json_object(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(mw_json_object(bad[i]));
	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"a\":", 5);
	deep[sizeof(deep) - 1] = '\0';
	assert_false(mw_json_object(deep));
}

TEST(test_json_values)
{
	const char *text =
		"{ \"ab\" : \"x\", \"a\":{\"n\":7, \"m\" : 8} , \"n\":18446744073709551615,\"f\":1.5,\"big\":18446744073709551616 }";
	const char *v;
	size_t n;
	uint64_t number;

	v = mw_json_get(text, "ab", &n);
	assert_int_equal(n, 3);
	assert_memory_equal(v, "\"x\"", 3);
	assert_null(mw_json_get(text, "m", &n));
	assert_null(mw_json_get(text, "b", &n));
	v = mw_json_get(text, "a", &n);
	assert_true(mw_json_get_u64(v, "m", &number));
	assert_int_equal(number, 8);
	assert_true(mw_json_get_u64(text, "n", &number));
	assert_int_equal(number, UINT64_MAX);
	assert_false(mw_json_get_u64(text, "f", &number));
	assert_false(mw_json_get_u64(text, "big", &number));
	assert_false(mw_json_get_u64(text, "ab", &number));
	assert_false(mw_json_get_u64("", "n", &number));
}
