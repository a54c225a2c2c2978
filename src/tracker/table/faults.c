/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "faults.h"

#include "callsite.h"

enum { CHUNK = 128 }; /* locations; the arena maps no less than a page */

/* By id; each written once: release. */
static struct mw_overruns *chunks[MW_CS_MAX / CHUNK];

static struct mw_overruns *entry(uint32_t id)
{
	struct mw_overruns *none = NULL, *chunk;
	size_t bytes = sizeof(*chunk) * CHUNK;

	chunk = __atomic_load_n(&chunks[id / CHUNK], __ATOMIC_ACQUIRE);
	if (!chunk) {
		chunk = mw_arena_map(bytes, MW_ARENA_LOCATION);
		if (!chunk)
			return NULL;
		if (!__atomic_compare_exchange_n(&chunks[id / CHUNK], &none, chunk, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			mw_arena_unmap(chunk, bytes, MW_ARENA_LOCATION);
			chunk = none;
		}
	}
	return &chunk[id % CHUNK];
}

struct mw_overruns *mw_overruns_add(uint32_t id, uint64_t size)
{
	struct mw_overruns *o = entry(id);

	if (!o)
		return NULL;
	mw_set(&o->last_size, size);
	__atomic_fetch_add(&o->count, 1, __ATOMIC_RELEASE);
	return o;
}

struct mw_overruns *mw_wrong_sizes_add(uint32_t id, uint64_t asked, uint64_t given)
{
	struct mw_overruns *o = entry(id);

	if (!o)
		return NULL;
	mw_set(&o->asked, asked);
	mw_set(&o->given, given);
	__atomic_fetch_add(&o->wrong_sizes, 1, __ATOMIC_RELEASE);
	return o;
}

const struct mw_overruns *mw_overruns_at(uint32_t id)
{
	const struct mw_overruns *chunk = __atomic_load_n(&chunks[id / CHUNK], __ATOMIC_ACQUIRE);

	const struct mw_overruns *o = chunk ? &chunk[id % CHUNK] : NULL;

	return o && (__atomic_load_n(&o->count, __ATOMIC_ACQUIRE) ||
		     __atomic_load_n(&o->wrong_sizes, __ATOMIC_ACQUIRE)) ?
		       o :
		       NULL;
}
