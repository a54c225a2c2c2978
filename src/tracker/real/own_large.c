/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own_large.h"

#include <stdint.h>

#include "tracker/base/arena.h"
#include "tracker/base/own_thread.h"
#include "real.h"
#include "tracker/base/noticed.h"

enum {
	HEAD = 16,        /* as before a block of glibc's with a mapping of its own */
	PAGE = 4096,
	PLACES = 1024
};

/* Where they begin; 0: free. Compare-and-swap: acquire and release. */
static uintptr_t places[PLACES];
static uint32_t used; /* one past the highest place that was ever used; relaxed */

static uintptr_t *take_place(uintptr_t base)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		uintptr_t none = 0;
		uint32_t was = mw_get(&used);

		if (mw_get(&places[i]) || !__atomic_compare_exchange_n(&places[i], &none, base, false,
								       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (was <= i && !__atomic_compare_exchange_n(&used, &was, i + 1, false,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return &places[i];
	}
	return NULL;
}

static uintptr_t *place_of(const void *p)
{
	uintptr_t base = (uintptr_t)p - HEAD;

	if (!p || base % PAGE)
		return NULL;
	for (uint32_t i = 0, n = mw_get(&used); i < n; i++)
		if (__atomic_load_n(&places[i], __ATOMIC_ACQUIRE) == base)
			return &places[i];
	return NULL;
}

void *mw_own_large_alloc(size_t n)
{
	size_t bytes = (n + HEAD + PAGE - 1) & ~(size_t)(PAGE - 1);
	size_t *base;

	if (n < MW_OWN_LARGE_LEAST || bytes < n || !mw_own_thread_here || !mw_real_glibc)
		return NULL;
	base = mw_arena_lend(bytes);
	if (!base)
		return NULL;
	/* as mw_chunk_usable reads it */
	base[1] = (bytes - HEAD + 8 + ((2 & mw_real_mapped) << 2)) | 2;
	if (take_place((uintptr_t)base)) {
		mw_noticed_add(base + HEAD / sizeof(*base));
		return base + HEAD / sizeof(*base);
	}
	mw_arena_return(base, bytes);
	return NULL;
}

bool mw_own_large_is(const void *p)
{
	return place_of(p);
}

size_t mw_own_large_size(const void *p)
{
	return mw_chunk_usable(p);
}

void mw_own_large_free(void *p)
{
	uintptr_t *place = place_of(p);
	size_t bytes = mw_own_large_size(p) + HEAD;

	if (!place)
		return;
	mw_noticed_remove(p);
	__atomic_store_n(place, 0, __ATOMIC_RELEASE); /* before the address can be another's */
	mw_arena_return((char *)p - HEAD, bytes);
}
