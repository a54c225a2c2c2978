/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lose.c - leaks blocks in several ways. Each leaves other words behind that look like their
 * addresses: in freed memory that somebody gets next, or on a stack.
 */
#include <stdlib.h>
#include <string.h>

static void *lost(size_t size)
{
	return memset(malloc(size), 0, size);
}

void lose_plain(size_t n, size_t size);
void lose_plain(size_t n, size_t size)
{
	while (n--)
		(void)!lost(size);
}

/* Each has the next one's address; the last one that of the first. */
void lose_ring(size_t n, size_t size);
void lose_ring(size_t n, size_t size)
{
	void **first, **at;

	if (!n)
		return;
	for (first = at = lost(size); --n;)
		at = *at = lost(size);
	*at = first;
}

/* They were in a table that grew and was freed. */
void lose_table(size_t n, size_t size);
void lose_table(size_t n, size_t size)
{
	void **table = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!(i & (i - 1)))
			table = realloc(table, 2 * (i + 1) * sizeof(*table));
		table[i] = lost(size);
	}
	free(table);
}

/* Each was in a struct of its own, behind other fields, which was freed. */
void lose_structs(size_t n, size_t size);
void lose_structs(size_t n, size_t size)
{
	enum { SIZES = 12 };
	void **some[SIZES];

	while (n--) {
		for (size_t i = 0; i < SIZES; i++)
			some[i] = malloc((i + 2) * 2 * sizeof(void *));
		some[n % SIZES][n % SIZES + 2] = lost(size);
		some[n % SIZES][n % SIZES + 3] = (char *)some[n % SIZES][n % SIZES + 2] + size / 2;
		for (size_t i = 0; i < SIZES; i++)
			free(some[i]);
	}
}

/* They were on the stack of a function that has returned. */
void lose_stack(size_t n, size_t size);
__attribute__((noinline)) void lose_stack(size_t n, size_t size)
{
	enum { MOST = 256 };
	void *volatile mine[MOST];

	for (size_t i = 0; i < n; i++)
		mine[i % MOST] = lost(size);
	(void)!mine[0];
}
