/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of code blocks without a record: what it takes, and what it gives up. */
/* uses: src/tracker/table/adopted.c src/tracker/base/arena.c src/tracker/base/noticed.c */
#include "unit.h"
#include "../../src/tracker/table/adopted.h"

static const void *block(uintptr_t i)
{
	return (const void *)(0x555500000000 + i * 16);
}

TEST(test_one)
{
	assert_false(mw_adopted_remove(block(1)));
	assert_true(mw_adopted_add(block(1)));
	assert_true(mw_adopted_add(block(1)));
	assert_false(mw_adopted_remove(block(2)));
	assert_true(mw_adopted_remove(block(1)));
	assert_false(mw_adopted_remove(block(1)));
}

/* More than it has room for: what it takes it has, and what it doesn't it hasn't. */
TEST(test_many)
{
	enum { MANY = 1 << 18 };
	static bool taken[MANY];
	size_t n = 0;

	for (uintptr_t i = 0; i < MANY; i++)
		n += taken[i] = mw_adopted_add(block(i));
	assert_in_range(n, MANY / 4, MANY / 2);
	for (uintptr_t i = 0; i < 20000; i++)
		assert_true(taken[i]); /* as many as a large app has */
	for (uintptr_t i = 0; i < MANY; i += 2)
		assert_int_equal(mw_adopted_remove(block(i)), taken[i]);
	for (uintptr_t i = 1; i < MANY; i += 2)
		assert_int_equal(mw_adopted_remove(block(i)), taken[i]);
	assert_true(mw_adopted_add(block(MANY)));
	assert_true(mw_adopted_remove(block(MANY)));
}

static uintptr_t gone, sum;

static void note(uintptr_t b)
{
	gone++;
	sum += b;
}

TEST(test_clear)
{
	assert_true(mw_adopted_add(block(1)));
	assert_true(mw_adopted_add(block(2)));
	mw_adopted_clear(note);
	assert_int_equal(gone, 2);
	assert_int_equal(sum, (uintptr_t)block(1) + (uintptr_t)block(2));
	assert_false(mw_adopted_remove(block(1)));
	mw_adopted_clear(note);
	assert_int_equal(gone, 2);
}
