/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampled_blocks.h"

#include "tracker/base/noticed.h"
#include "tracker/base/arena.h"

enum {
	SETS = 6,
	WAYS = 4,
	LEAST_BITS = 10
}; /* the first set takes 64 KiB, of which only pages in use are touched */

struct entry {
	uintptr_t block; /* 0: free. Release once it is free again */
	uint64_t value;  /* ref below, count above; 0: not written yet. Release */
};

struct bucket {
	struct entry ways[WAYS];
} __attribute__((aligned(64)));

static struct bucket *sets[SETS]; /* release */
static uint32_t live;             /* relaxed adds */

static size_t buckets_of(int set)
{
	return (size_t)1 << (LEAST_BITS + set);
}

static struct bucket *made(int set)
{
	size_t bytes = buckets_of(set) * sizeof(struct bucket);
	struct bucket *none = NULL, *new, *is = __atomic_load_n(&sets[set], __ATOMIC_ACQUIRE);

	if (is)
		return is;
	new = mw_arena_grow(bytes, MW_ARENA_RECORD);
	if (new && !__atomic_compare_exchange_n(&sets[set], &none, new, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
		mw_arena_unmap(new, bytes, MW_ARENA_RECORD);
	return __atomic_load_n(&sets[set], __ATOMIC_ACQUIRE);
}

/* The entry `way` of the two buckets that p may be in. */
static struct entry *entry_of(struct bucket *b, int set, const void *p, int way)
{
	size_t i = (size_t)(((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LEAST_BITS - set));

	return &b[i ^ (size_t)(way / WAYS)].ways[way % WAYS];
}

static bool put_into(struct bucket *b, int set, const void *p, uint64_t value)
{
	for (int way = 0; b && way < 2 * WAYS; way++) {
		struct entry *e = entry_of(b, set, p, way);
		uintptr_t none = 0;

		if (mw_get(&e->block) ||
		    !__atomic_compare_exchange_n(&e->block, &none, (uintptr_t)p, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&e->value, value, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool mw_sampled_put(const void *p, struct mw_sampled_block b)
{
	uint64_t value = (uint64_t)b.count << 32 | b.ref;

	mw_noticed_add(p);
	for (int set = 0; set < SETS; set++) {
		if (put_into(made(set), set, p, value)) {
			mw_add(&live, 1);
			return true;
		}
	}
	mw_noticed_remove(p);
	return false;
}

static struct entry *find_sampled(const void *p)
{
	for (int set = 0; set < SETS; set++) {
		struct bucket *b = __atomic_load_n(&sets[set], __ATOMIC_ACQUIRE);

		for (int way = 0; b && way < 2 * WAYS; way++) {
			struct entry *e = entry_of(b, set, p, way);

			if (mw_get(&e->block) == (uintptr_t)p)
				return e;
		}
	}
	return NULL;
}

static struct mw_sampled_block block_in(const struct entry *e)
{
	uint64_t value = __atomic_load_n(&e->value, __ATOMIC_ACQUIRE);

	return (struct mw_sampled_block){ .ref = (uint32_t)value, .count = (uint32_t)(value >> 32) };
}

bool mw_sampled_find(const void *p, struct mw_sampled_block *b)
{
	const struct entry *e = find_sampled(p);

	if (!e)
		return false;
	*b = block_in(e);
	return b->ref != 0;
}

uint32_t mw_sampled_take(const void *p)
{
	struct entry *e = find_sampled(p);
	uint64_t value = e ? __atomic_exchange_n(&e->value, 0, __ATOMIC_ACQ_REL) : 0;

	if (!value) /* or another thread has taken it */
		return 0;
	__atomic_store_n(&e->block, 0, __ATOMIC_RELEASE);
	mw_add(&live, (uint32_t)-1);
	mw_noticed_remove(p);
	return (uint32_t)(value >> 32);
}

uint32_t mw_sampled_live(void)
{
	return mw_get(&live);
}

void mw_sampled_each(void (*f)(const void *p, const struct mw_sampled_block *, void *ctx), void *ctx)
{
	for (int set = 0; set < SETS; set++) {
		struct bucket *b = __atomic_load_n(&sets[set], __ATOMIC_ACQUIRE);

		for (size_t i = 0; b && i < buckets_of(set); i++) {
			for (int way = 0; way < WAYS; way++) {
				const struct entry *e = &b[i].ways[way];
				struct mw_sampled_block is = block_in(e);
				uintptr_t p = mw_get(&e->block);

				if (p && is.ref)
					f((const void *)p, &is, ctx);
			}
		}
	}
}
