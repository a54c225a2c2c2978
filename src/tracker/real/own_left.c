/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_left.c - blocks of the app's allocator that own threads leave to other threads, which free them. */
#include "own_blocks.h"

/* A block's first word. */
struct left_block {
	struct left_block *next;
};
static struct left_block *left; /* release when one is put in; all are taken at once */

void mw_own_leave(void *p)
{
	struct left_block *is = p;

	is->next = __atomic_load_n(&left, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&left, &is->next, is, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void mw_own_free_left(void)
{
	struct left_block *is, *next;

	if (mw_likely(!mw_get(&left)))
		return;
	for (is = __atomic_exchange_n(&left, NULL, __ATOMIC_ACQUIRE); is; is = next) {
		next = is->next;
		mw_real.free(is);
	}
}
