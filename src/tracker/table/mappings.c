/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mappings.h"

#include "shared/sys/atomics.h"
#include "callsite.h"

enum { FREE, TAKEN }; /* instead of an address */

/* `start` is written last, with release, and taken by a compare-and-swap: an entry has one writer. */
static struct entry {
	uintptr_t start;
	size_t bytes; /* relaxed: it may shrink while it is read */
	uint32_t id;  /* relaxed */
} entries[MW_MAPPINGS];
static uint32_t end; /* one past the last entry ever used; relaxed, and only goes up */

static bool change_entry(struct entry *e, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&e->start, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void mw_mapping_add(uintptr_t start, size_t bytes, uint32_t id)
{
	for (uint32_t i = 0; i < MW_MAPPINGS; i++) {
		struct entry *e = &entries[i];
		uint32_t was = mw_get(&end);

		if (mw_get(&e->start) != FREE || !change_entry(e, FREE, TAKEN))
			continue;
		mw_set(&e->bytes, bytes);
		mw_set(&e->id, id);
		__atomic_store_n(&e->start, start, __ATOMIC_RELEASE);
		while (was <= i && !__atomic_compare_exchange_n(&end, &was, i + 1, true,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return;
	}
}

void mw_mapping_gone(uintptr_t start, size_t bytes)
{
	uint32_t n = mw_get(&end);

	for (uint32_t i = 0; i < n; i++) {
		struct entry *e = &entries[i];
		uintptr_t at = __atomic_load_n(&e->start, __ATOMIC_ACQUIRE);
		size_t has = mw_get(&e->bytes);

		if (at <= TAKEN || at >= start + bytes || start >= at + has)
			continue;
		if (at < start) { /* the mapping behind the hole isn't known any more */
			mw_set(&e->bytes, start - at);
		} else if (at + has <= start + bytes) {
			(void)change_entry(e, at, FREE);
		} else if (change_entry(e, at, TAKEN)) {
			mw_set(&e->bytes, at + has - start - bytes);
			__atomic_store_n(&e->start, start + bytes, __ATOMIC_RELEASE);
		}
	}
}

bool mw_mappings_of(uint32_t id)
{
	uint32_t n = mw_get(&end);

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&entries[i].start, __ATOMIC_ACQUIRE) > TAKEN &&
		    mw_get(&entries[i].id) == id)
			return true;
	return false;
}

void mw_mappings_each(void (*f)(uintptr_t start, size_t bytes, uint32_t id, void *ctx), void *ctx)
{
	uint32_t n = mw_get(&end);

	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];
		uintptr_t start = __atomic_load_n(&e->start, __ATOMIC_ACQUIRE);

		if (start > TAKEN)
			f(start, mw_get(&e->bytes), mw_callsite_shown(mw_get(&e->id)), ctx);
	}
}
