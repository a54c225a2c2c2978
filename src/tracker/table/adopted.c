/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adopted.h"

#include "tracker/base/noticed.h"
#include "tracker/base/arena.h"

enum { BUCKETS = 1 << 14, WAYS = 8 }; /* 1 MiB, of which only the pages in use are touched */

struct bucket {
	uintptr_t blocks[WAYS]; /* 0: free; relaxed */
};

static struct bucket *set; /* release; mapped once, when the first is added */

static struct bucket *buckets(void)
{
	struct bucket *none = NULL, *made, *is = __atomic_load_n(&set, __ATOMIC_ACQUIRE);

	if (is)
		return is;
	made = mw_arena_grow(BUCKETS * sizeof(*made), MW_ARENA_LOCATION);
	if (made &&
	    !__atomic_compare_exchange_n(&set, &none, made, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		mw_arena_unmap(made, BUCKETS * sizeof(*made), MW_ARENA_LOCATION);
	return __atomic_load_n(&set, __ATOMIC_ACQUIRE);
}

static struct bucket *bucket_of(struct bucket *all, const void *block)
{
	return &all[((uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - 14)];
}

bool mw_adopted_add(const void *block)
{
	struct bucket *all = buckets(), *b = all ? bucket_of(all, block) : NULL;
	uintptr_t is;

	for (int i = 0; b && i < WAYS; i++) {
		is = mw_get(&b->blocks[i]);
		if (!is && __atomic_compare_exchange_n(&b->blocks[i], &is, (uintptr_t)block, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			mw_noticed_add(block);
			return true;
		}
		if (is == (uintptr_t)block)
			return true;
	}
	return false;
}

bool mw_adopted_remove(const void *block)
{
	struct bucket *all = __atomic_load_n(&set, __ATOMIC_ACQUIRE);
	struct bucket *b = all ? bucket_of(all, block) : NULL;
	bool was = false;

	/* two threads that added it at once may have done so twice */
	for (int i = 0; b && i < WAYS; i++) {
		if (mw_get(&b->blocks[i]) == (uintptr_t)block) {
			mw_set(&b->blocks[i], 0);
			mw_noticed_remove(block);
			was = true;
		}
	}
	return was;
}

void mw_adopted_clear(void (*gone)(uintptr_t block))
{
	struct bucket *all = __atomic_load_n(&set, __ATOMIC_ACQUIRE);

	for (int n = 0; all && n < BUCKETS; n++) {
		for (int i = 0; i < WAYS; i++) {
			uintptr_t is = mw_get(&all[n].blocks[i]);

			if (is) {
				mw_set(&all[n].blocks[i], 0);
				mw_noticed_remove((const void *)is);
				gone(is);
			}
		}
	}
}
