/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows in lists by hash: few lists at first, more where rows crowd them, and none is lost. */
/* uses: src/tracker/table/row_lists.c src/tracker/base/arena.c src/shared/sys/log.c */
#include "unit.h"
#include "../../src/tracker/table/row_lists.h"

struct row {
	uint32_t next; /* the first four bytes: row_lists.h */
	uint64_t key;  /* 0: not in a list */
};
enum { MOST = 50000, FIRST = 16, LAST = 4096 };

static struct mw_rows rows = MW_ROWS(struct row, MOST);
static uint32_t link_row(uint32_t i);
static struct mw_heads by_key = { FIRST, LAST, NULL, link_row };
static uint32_t n;

static struct row *at(uint32_t i)
{
	return mw_rows_at(&rows, i);
}

static uint32_t link_row(uint32_t i)
{
	if (at(i)->key)
		mw_push(mw_head(&by_key, mw_mix(at(i)->key)), &at(i)->next, i);
	return i + 1;
}

static void add(uint64_t key)
{
	uint32_t i;

	mw_heads_fit(&by_key, n, rows.n);
	i = mw_rows_add(&rows);
	assert_true(i);
	at(i)->key = key;
	(void)link_row(i);
	n++;
}

static uint32_t find(uint64_t key)
{
	uint32_t *head = mw_head(&by_key, mw_mix(key)), steps = 0, i;

	for (i = head ? *head : 0; i && at(i)->key != key; i = at(i)->next)
		assert_in_range(++steps, 1, MOST); /* else the list has no end */
	return i;
}

static void drop(uint64_t key)
{
	uint32_t i = find(key), *link = mw_head(&by_key, mw_mix(key));

	while (*link != i)
		link = &at(*link)->next;
	*link = at(i)->next;
	mw_rows_give(&rows, i);
	n--;
}

static void teardown(void)
{
	mw_arena_limit(0);
	for (uint32_t c = 0; c < MW_ROWS_CHUNKS; c++)
		mw_arena_unmap(rows.chunks[c], rows.chunks[c] ? (size_t)rows.in_chunk * rows.each : 0,
			       MW_ARENA_STACK);
	mw_arena_unmap(by_key.first, by_key.n * sizeof(*by_key.first), MW_ARENA_STACK);
	rows = (struct mw_rows)MW_ROWS(struct row, MOST);
	by_key = (struct mw_heads){ FIRST, LAST, NULL, link_row };
	n = 0;
}

EACH(NULL, teardown);

TEST(lists_grow_with_the_rows)
{
	for (uint64_t key = 1; key <= MOST; key++) {
		add(key);
		assert_true(by_key.n == FIRST || n > by_key.n);
		assert_true(by_key.n == LAST || n <= by_key.n * 2 + 2);
	}
	assert_int_equal(by_key.n, LAST);
	for (uint64_t key = 1; key <= MOST; key++)
		assert_int_equal(at(find(key))->key, key);
	assert_int_equal(find(MOST + 1), 0);
}

TEST(the_memory_of_fewer_lists_is_given_back)
{
	size_t held;

	for (uint64_t key = 1; key <= 20 * FIRST; key++)
		add(key);
	assert_true(by_key.n > FIRST);
	held = mw_arena_bytes();
	assert_int_equal(held, (size_t)rows.in_chunk * rows.each + by_key.n * sizeof(*by_key.first));
}

TEST(rows_that_are_given_back)
{
	for (uint64_t key = 1; key <= 1000; key++)
		add(key);
	for (uint64_t key = 2; key <= 1000; key += 2)
		drop(key);
	mw_heads_fit(&by_key, MOST, rows.n);
	for (uint64_t key = 1; key <= 1000; key++)
		assert_int_equal(find(key) != 0, key % 2);
	for (uint64_t key = 2; key <= 1000; key += 2)
		add(key);
	for (uint64_t key = 1; key <= 1000; key++)
		assert_true(find(key));
}

/* As in a child that was forked while its parent's lists grew. */
TEST(rows_in_no_list)
{
	for (uint64_t key = 1; key <= 100; key++)
		add(key);
	for (uint32_t l = 0; l < by_key.n; l += 2)
		by_key.first[l] = 0;
	mw_heads_fit(&by_key, MOST, rows.n);
	for (uint64_t key = 1; key <= 100; key++)
		assert_true(find(key));
}

TEST(at_the_ceiling_lists_stay_few)
{
	for (uint64_t key = 1; key <= 2 * FIRST; key++)
		add(key);
	mw_arena_limit(1); /* MW_ARENA_LEAST; a half of that is for these */
	while (mw_arena_grow(64, MW_ARENA_STACK))
		;
	mw_heads_fit(&by_key, MOST, rows.n);
	assert_int_equal(by_key.n, FIRST);
	for (uint64_t key = 1; key <= 2 * FIRST; key++)
		assert_true(find(key));
}
