/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own_blocks.h"

#include <errno.h>

#include "tracker/base/arena.h"
#include "tracker/base/noticed.h"
#include "tracker/base/wait.h"

/* --- small --------------------------------------------------------------------------------- */

/*
 * Rooms are multiples of 16: up to 128 all of them, then four to each doubling. STEP bytes of the range become memory at
 * a time: a piece of its own never becomes a huge page.
 */
enum { UNIT = 16, LINEAR = 8, CLASSES = LINEAR + 9 * 4, SMALL_MAX = 64 << 10, STEP = 256 << 10 };
/* The first that there is space for. */
static const size_t ranges[] = { (size_t)64 << 20, (size_t)8 << 20, (size_t)1 << 20 };

uintptr_t mw_own_start, mw_own_bytes;
static size_t cut_bytes, mapped_bytes; /* of the range; under the lock, but others read cut_bytes: relaxed */
static uint32_t taking; /* the lock */

/* A free block's first word; release when it is put in, acquire when it is taken. */
struct spare {
	struct spare *next;
};
static struct spare *spares[CLASSES];

static uint32_t class_of_room(size_t room)
{
	uint32_t units = (uint32_t)((room + UNIT - 1) / UNIT), doubled;

	if (units <= LINEAR)
		return units ? units - 1 : 0;
	doubled = 31 - (uint32_t)__builtin_clz(units - 1); /* 3 or more */
	return LINEAR + (doubled - 3) * 4 + ((units - 1) >> (doubled - 2)) - 4;
}

static size_t room_of(uint32_t class)
{
	uint32_t above = class - LINEAR;

	if (class < LINEAR)
		return (size_t)(class + 1) * UNIT;
	return ((size_t)(above % 4 + 5) << (above / 4 + 1)) * UNIT;
}

static bool make_range(void)
{
	void *p = NULL;

	for (size_t i = 0; !p && i < sizeof(ranges) / sizeof(*ranges); i++) {
		p = mw_arena_room(ranges[i]);
		if (p) {
			mw_set(&mw_own_start, (uintptr_t)p);
			mw_set(&mw_own_bytes, ranges[i]);
		}
	}
	return p;
}

/* Memory up to `end` bytes of the range. */
static bool reach(size_t end)
{
	while (end > mapped_bytes) {
		if (!mw_arena_fill((void *)(mw_own_start + mapped_bytes), STEP))
			return false;
		mapped_bytes += STEP;
	}
	return true;
}

/* A new block, zeroed; NULL: no room. Under the lock. */
static void *cut(size_t align, size_t room)
{
	uintptr_t p, end;

	if (!mw_own_bytes && !make_range())
		return NULL;
	p = (mw_own_start + cut_bytes + MW_OWN_HEAD + align - 1) & ~(uintptr_t)(align - 1);
	end = p + room - mw_own_start;
	if (p < mw_own_start || end > mw_own_bytes || !reach(end))
		return NULL;
	mw_set(&cut_bytes, end);
	/* as mw_chunk_plain reads it; the word before is 0, which mw_musl_plain knows */
	((size_t *)p)[-1] = (room + 8) | 1;
	return (void *)p;
}

static void *take_spare(uint32_t class)
{
	struct spare *is = __atomic_load_n(&spares[class], __ATOMIC_ACQUIRE);

	/* only the lock's owner takes: so `is` can't go and come back in between */
	while (is && !__atomic_compare_exchange_n(&spares[class], &is, is->next, false, __ATOMIC_ACQUIRE,
						  __ATOMIC_ACQUIRE))
		;
	return is;
}

static void *small_alloc(size_t align, size_t room)
{
	unsigned turns = 0;
	void *p = NULL;

	while (__atomic_exchange_n(&taking, 1, __ATOMIC_ACQUIRE))
		mw_let_run(&turns);
	if (align <= UNIT)
		p = take_spare(class_of_room(room));
	if (!p)
		p = cut(align, room <= SMALL_MAX ? room_of(class_of_room(room)) :
						   (room + UNIT - 1) & -(size_t)UNIT);
	__atomic_store_n(&taking, 0, __ATOMIC_RELEASE);
	return p;
}

static void small_free(void *p)
{
	size_t room = mw_own_size(p);
	struct spare **of, *is = p;

	if (room > SMALL_MAX) /* it was asked for aligned, which nobody does: it is lost */
		return;
	of = &spares[class_of_room(room)];
	is->next = __atomic_load_n(of, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(of, &is->next, is, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* --- large --------------------------------------------------------------------------------- */

/*
 * The word before one has the flag of a block with a mapping of its own. Such a block may have a word less of room, or
 * not (mw_real_mapped): one word is left over, so that both may be read.
 */
enum { PLACES = 1024, MAPPED = 2, LARGE_REST = MW_OWN_HEAD + 8 };
/* Where they begin; 0: free. Compare-and-swap: acquire and release. */
static uintptr_t places[PLACES];
uint32_t mw_own_large_used; /* one past the highest place that was ever used */
static uint64_t large_bytes; /* relaxed */

static uintptr_t *take_place(uintptr_t base)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		uintptr_t none = 0;
		uint32_t was = mw_get(&mw_own_large_used);

		if (mw_get(&places[i]) || !__atomic_compare_exchange_n(&places[i], &none, base, false,
								       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (was <= i && !__atomic_compare_exchange_n(&mw_own_large_used, &was, i + 1, false,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return &places[i];
	}
	return NULL;
}

static uintptr_t *place_of(const void *p)
{
	uintptr_t base = (uintptr_t)p - MW_OWN_HEAD;

	for (uint32_t i = 0, n = mw_get(&mw_own_large_used); i < n; i++)
		if (__atomic_load_n(&places[i], __ATOMIC_ACQUIRE) == base)
			return &places[i];
	return NULL;
}

bool mw_own_large_is(const void *p)
{
	return place_of(p);
}

static void *large_alloc(size_t room)
{
	size_t bytes = (room + LARGE_REST + MW_OWN_PAGE - 1) & ~(size_t)(MW_OWN_PAGE - 1);
	size_t *base = mw_arena_lend(bytes);

	if (!base)
		return NULL;
	base[1] = (bytes - LARGE_REST + 16) | MAPPED;
	if (take_place((uintptr_t)base)) {
		mw_add(&large_bytes, bytes);
		mw_noticed_add(base + MW_OWN_HEAD / sizeof(*base));
		return base + MW_OWN_HEAD / sizeof(*base);
	}
	mw_arena_return(base, bytes);
	return NULL;
}

static void large_free(void *p)
{
	uintptr_t *place = place_of(p);
	size_t bytes = mw_own_size(p) + LARGE_REST;

	if (!place)
		return;
	mw_noticed_remove(p);
	mw_add(&large_bytes, -(uint64_t)bytes);
	__atomic_store_n(place, 0, __ATOMIC_RELEASE); /* before the address can be another's */
	mw_arena_return((char *)p - MW_OWN_HEAD, bytes);
}

/* --- both ---------------------------------------------------------------------------------- */

void *mw_own_alloc(size_t align, size_t n)
{
	size_t room = n + MW_OWN_TAIL;
	void *p = NULL;

	if (room < n || room > PTRDIFF_MAX - STEP)
		goto none;
	if (align < UNIT)
		align = UNIT;
	if (room <= SMALL_MAX || align > UNIT)
		p = small_alloc(align, room);
	if (!p && align == UNIT)
		p = large_alloc(room);
	if (p)
		return p;
none:
	errno = ENOMEM;
	return NULL;
}

uint64_t mw_own_held(void)
{
	return mw_get(&cut_bytes) + mw_get(&large_bytes);
}

void *mw_own_roomy(size_t n)
{
	return mw_own_alloc(UNIT, n - MW_OWN_TAIL);
}

size_t mw_own_size(const void *p)
{
	size_t w = ((const size_t *)p)[-1];

	return (w & ~(size_t)7) - (w & MAPPED ? 16 : 8);
}

void mw_own_free(void *p)
{
	if (mw_own_small_is(p))
		small_free(p);
	else
		large_free(p);
}

void mw_own_after_fork(void)
{
	__atomic_store_n(&taking, 0, __ATOMIC_RELEASE);
}
