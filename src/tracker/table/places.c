/* SPDX-License-Identifier: GPL-2.0-or-later */
/* places.c - where malloc's live blocks are, without their locations; see snapshot.h. */
#include <stdlib.h>

#include "snapshot.h"
#include "tracker/real/real.h"
#include "record.h"

static int by_addr(const void *a, const void *b)
{
	const struct mw_live *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_value(const void *a, const void *b)
{
	const uintptr_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void window(struct mw_places *p, uintptr_t addr)
{
	uintptr_t w = addr & ~(MW_PLACES_WINDOW - 1);

	for (size_t i = p->windows_n; i--;)
		if (p->windows[i] == w)
			return;
	if (p->windows_n < sizeof(p->windows) / sizeof(*p->windows))
		p->windows[p->windows_n++] = w;
}

static bool push(struct mw_places *p, size_t *cap, uintptr_t addr, uint64_t size)
{
	if (p->n == *cap) {
		size_t more = *cap ? *cap * 2 : 64;
		struct mw_live *v = realloc(p->v, more * sizeof(*v));

		if (!v)
			return false;
		p->v = v;
		*cap = more;
	}
	p->v[p->n++] = (struct mw_live){ .addr = addr, .size = size };
	return true;
}

/*
 * A record may change while it is read: then a block that was just freed is missing or present, and
 * its size may be another's. That is exact enough for sums of memory.
 */
struct mw_places *mw_places_take(uint64_t least)
{
	struct mw_places *p = calloc(1, sizeof(*p));
	uint32_t end = mw_records_end();
	uintptr_t last = 0;
	size_t cap = 0;

	if (!p)
		return NULL;
	p->arenas = mw_real_glibc;
	for (uint32_t i = MW_BATCH; i < end; i++) {
		const struct mw_record *r = mw_record_at(i);
		uint64_t where = __atomic_load_n(&r->where, __ATOMIC_ACQUIRE), size;
		uintptr_t addr;

		if (!mw_record_live(where))
			continue;
		size = mw_size_decode(mw_get(&r->size));
		addr = mw_record_block(where) & ~(uintptr_t)15;
		if (mw_get(&r->where) != where)
			continue;
		if (size >= least) {
			if (!push(p, &cap, addr, size)) {
				mw_places_free(p);
				return NULL;
			}
		} else if ((addr ^ last) >= MW_PLACES_WINDOW) { /* most lie beside the one before */
			window(p, addr);
			last = addr;
		}
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_addr);
	qsort(p->windows, p->windows_n, sizeof(*p->windows), by_value);
	p->threads_n = mw_shard_threads(p->threads, sizeof(p->threads) / sizeof(*p->threads));
	qsort(p->threads, p->threads_n, sizeof(*p->threads), by_value);
	return p;
}

void mw_places_free(struct mw_places *p)
{
	if (p)
		free(p->v);
	free(p);
}
