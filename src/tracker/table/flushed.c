/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flushed.c - where a location counts its frees outside the shards; see callsite.h. */
#include <string.h>

#include "callsite.h"
#include "shared/sys/mw_assert.h"

struct mw_flushed_frees *mw_flushed_frees(uint32_t id)
{
	struct mw_cs_chunk *c = __atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE);
	uint32_t at = __atomic_load_n(&c->frees_at[id % MW_CS_CHUNK], __ATOMIC_ACQUIRE);

	return at ? &c->frees[at - 1] : NULL;
}

/*
 * Takes an entry that is all zeros. One is free at any time but for moments: there are more than
 * locations, and no thread keeps one that its location doesn't have.
 */
static uint32_t take_frees(struct mw_cs_chunk *c)
{
	uint32_t i = mw_get(&c->frees_next) % MW_CS_FREES;

	while (mw_get(&c->frees_taken[i]) || __atomic_exchange_n(&c->frees_taken[i], 1, __ATOMIC_ACQUIRE))
		i = (i + 1) % MW_CS_FREES;
	mw_set(&c->frees_next, i + 1);
	return i;
}

/* i was never used. */
static void give_frees_back(struct mw_cs_chunk *c, uint32_t i)
{
	mw_assert(mw_get(&c->frees_taken[i]) && !c->frees[i].frees); /* taken, and all zeros */
	__atomic_store_n(&c->frees_taken[i], 0, __ATOMIC_RELEASE);
	mw_set(&c->frees_next, i);
}

struct mw_flushed_frees *mw_flushed_frees_taken(uint32_t id)
{
	struct mw_flushed_frees *known = mw_flushed_frees(id);
	struct mw_cs_chunk *c;
	uint16_t none = 0;
	uint32_t i;

	if (known)
		return known;
	c = __atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE);
	i = take_frees(c);
	if (__atomic_compare_exchange_n(&c->frees_at[id % MW_CS_CHUNK], &none, (uint16_t)(i + 1), false,
					__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		return &c->frees[i];
	give_frees_back(c, i); /* another thread was first */
	return &c->frees[none - 1];
}

void mw_flushed_after_fork(void)
{
	bool used[MW_CS_FREES];

	for (uint32_t n = 0; n < MW_CS_MAX / MW_CS_CHUNK; n++) {
		struct mw_cs_chunk *c = mw_get(&mw_cs_chunks[n]);

		if (!c)
			continue;
		memset(used, 0, sizeof(used));
		for (uint32_t i = 0; i < MW_CS_CHUNK; i++) {
			if (mw_get(&c->frees_at[i]))
				used[mw_get(&c->frees_at[i]) - 1] = true;
		}
		for (uint32_t i = 0; i < MW_CS_FREES; i++) {
			if (mw_get(&c->frees_taken[i]) && !used[i]) /* the parent's page stays shared if not */
				mw_set(&c->frees_taken[i], (uint8_t)0);
		}
	}
}
