/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ids.c - gives out the ids of locations, and maps the memory that they index.
 *
 * Lock-free. Ids given back come first, last in first out. free_ids is the top of their stack,
 * with a tag that changes with each push and pop: a compare-and-swap fails if an id went and came
 * back meanwhile. Never used ids come from next_id; their memory is mapped a chunk at a time.
 */
#include "ids.h"

#include "shared/sys/mw_assert.h"

struct mw_cs_chunk *mw_cs_chunks[MW_CS_MAX / MW_CS_CHUNK];

static uint32_t next_id = MW_CS_FIRST; /* never used yet */
static uint32_t ids_max = MW_CS_MAX;   /* relaxed: less where memory ended before */
static uint64_t free_ids;              /* tag << 32 | first free id */

/* a location's sums, row and text take 400 bytes or so, its line in the dump some 100 */
enum { ROOM = 1 << 20 };
static bool keep_room; /* relaxed */
static void *rooms[MW_CS_MAX / MW_CS_CHUNK]; /* relaxed; who makes a chunk writes its entry */

static void add_room(uint32_t chunk)
{
	if (mw_get(&keep_room))
		mw_set(&rooms[chunk], mw_arena_room(ROOM));
}

void mw_ids_keep_room(void)
{
	mw_set(&keep_room, true);
	for (uint32_t i = 0; i < MW_CS_MAX / MW_CS_CHUNK; i++)
		if (mw_get(&mw_cs_chunks[i]) && !mw_get(&rooms[i]))
			add_room(i);
}

void mw_ids_use_room(void)
{
	mw_set(&keep_room, false);
	for (uint32_t i = 0; i < MW_CS_MAX / MW_CS_CHUNK; i++)
		mw_arena_return(__atomic_exchange_n(&rooms[i], NULL, __ATOMIC_RELAXED), ROOM);
}

bool mw_ids_ready(uint32_t id)
{
	struct mw_cs_chunk *empty = NULL, *chunk;
	size_t bytes = sizeof(*chunk);

	if (__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE))
		return true;
	/* a reset must not fail for want of memory: its memory is set aside here */
	if (!mw_arena_set_aside(MW_CS_BASES, MW_ARENA_LOCATION))
		goto none;
	chunk = mw_arena_grow(bytes, MW_ARENA_LOCATION);
	if (!chunk) {
		mw_arena_put_back(MW_CS_BASES);
		goto none;
	}
	if (!__atomic_compare_exchange_n(&mw_cs_chunks[id / MW_CS_CHUNK], &empty, chunk, false,
					 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
		mw_arena_unmap(chunk, bytes, MW_ARENA_LOCATION);
		mw_arena_put_back(MW_CS_BASES);
	} else {
		add_room(id / MW_CS_CHUNK);
	}
	mw_set(&ids_max, MW_CS_MAX);
	return true;
none:
	if (__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE))
		return true; /* another thread got the last memory */
	mw_set(&ids_max, id / MW_CS_CHUNK * MW_CS_CHUNK);
	return false;
}

uint32_t mw_id_take(void)
{
	uint64_t top = __atomic_load_n(&free_ids, __ATOMIC_ACQUIRE), next;
	uint32_t id;

	while ((uint32_t)top) {
		next = ((top >> 32) + 1) << 32 | (uint32_t)mw_get(&mw_callsite((uint32_t)top)->at);
		if (__atomic_compare_exchange_n(&free_ids, &top, next, true, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return (uint32_t)top;
	}
	id = mw_get(&next_id);
	do {
		if (id >= MW_CS_MAX || !mw_ids_ready(id))
			return MW_CS_NONE;
	} while (!__atomic_compare_exchange_n(&next_id, &id, id + 1, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return id;
}

void mw_id_give(uint32_t id)
{
	uint64_t top = mw_get(&free_ids), head;

	mw_assert(id >= MW_CS_FIRST && id < mw_callsites_end());
	mw_assert(mw_get(&mw_callsite(id)->kind) != MW_CS_FREE || !mw_get(&mw_callsite(id)->at));
	__atomic_store_n(&mw_callsite(id)->kind, MW_CS_FREE, __ATOMIC_RELEASE);
	do {
		mw_set(&mw_callsite(id)->at, (uint64_t)(uint32_t)top);
		head = ((top >> 32) + 1) << 32 | id;
	} while (!__atomic_compare_exchange_n(&free_ids, &top, head, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

uint32_t mw_callsites_end(void)
{
	return __atomic_load_n(&next_id, __ATOMIC_ACQUIRE);
}

uint32_t mw_callsites_max(void)
{
	return mw_get(&ids_max);
}
