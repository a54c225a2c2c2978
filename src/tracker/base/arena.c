/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shared/sys/mw_assert.h"
#include "shared/sys/sys.h"

static uint64_t held[MW_ARENA_USES]; /* relaxed: bytes mapped, and of texts */
static uint64_t taken; /* relaxed: `held`, and bytes set aside; under the ceiling */
static uint64_t max;   /* relaxed: the ceiling, 0: none */
static void *(*text_alloc)(size_t) = malloc;
static void (*text_free)(void *) = free;

void mw_arena_limit(uint64_t bytes)
{
	mw_set(&max, bytes && bytes < MW_ARENA_LEAST ? (uint64_t)MW_ARENA_LEAST : bytes);
}

uint64_t mw_arena_max(void)
{
	return mw_get(&max);
}

uint64_t mw_arena_held(enum mw_arena_for what)
{
	return mw_get(&held[what]);
}

uint64_t mw_arena_bytes(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < MW_ARENA_USES; i++)
		sum += mw_arena_held((enum mw_arena_for)i);
	return sum;
}

static uint64_t ceiling(enum mw_arena_for what)
{
	uint64_t m = mw_get(&max);

	if (!m)
		return UINT64_MAX;
	if (what == MW_ARENA_LOCATION)
		return m - m / 8;
	if (what == MW_ARENA_HISTORY)
		return m - m / 4;
	if (what == MW_ARENA_STACK)
		return m / 2;
	return what == MW_ARENA_RECORD ? m - m / 16 : m;
}

/* Takes room for bytes; false: the ceiling is reached. */
static bool take_room(uint64_t bytes, enum mw_arena_for what)
{
	uint64_t is = mw_get(&taken), top = ceiling(what);

	do {
		if (bytes > top || is > top - bytes)
			return false;
	} while (!__atomic_compare_exchange_n(&taken, &is, is + bytes, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

bool mw_arena_take(size_t bytes, enum mw_arena_for what)
{
	bool ok = take_room(bytes, what);

	if (ok)
		mw_add(&held[what], bytes);
	return ok;
}

void mw_arena_give(size_t bytes, enum mw_arena_for what)
{
	mw_add(&held[what], -(uint64_t)bytes);
	mw_add(&taken, -(uint64_t)bytes);
}

void *mw_arena_lend(size_t bytes)
{
	int e = errno;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = e;
	return p == MAP_FAILED ? NULL : p;
}

void *mw_arena_room(size_t bytes)
{
	int e = errno;
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = e;
	return p == MAP_FAILED ? NULL : p;
}

void mw_arena_return(void *p, size_t bytes)
{
	int e = errno;

	if (p)
		(void)munmap(p, bytes);
	errno = e;
}

/*
 * The pieces. A piece takes the next place, so that no place has two writers; `bytes` is written last, with
 * release, and 0 means none. More pieces than places aren't in the list.
 */
enum { PIECES = 1024, STRUCK = 1 };
static struct piece {
	uintptr_t start;
	size_t bytes;
} pieces[PIECES];
static uint32_t pieces_n; /* relaxed: places taken, or more */

static void list(const void *p, size_t bytes)
{
	uint32_t i =
		mw_get(&pieces_n) < PIECES ? __atomic_fetch_add(&pieces_n, 1, __ATOMIC_RELAXED) : PIECES;

	if (i >= PIECES)
		return;
	mw_set(&pieces[i].start, (uintptr_t)p);
	__atomic_store_n(&pieces[i].bytes, bytes, __ATOMIC_RELEASE);
}

static void strike(const void *p)
{
	uint32_t n = mw_get(&pieces_n);

	for (uint32_t i = n < PIECES ? n : PIECES; i--;)
		if (mw_get(&pieces[i].start) == (uintptr_t)p) {
			__atomic_store_n(&pieces[i].bytes, 0, __ATOMIC_RELEASE);
			mw_set(&pieces[i].start, STRUCK);
			return;
		}
}

void mw_arena_hide(void)
{
	static uint32_t hidden; /* relaxed: of so many pieces; two threads at once may hide one twice */
	uint32_t i = mw_get(&hidden), n = mw_get(&pieces_n);
	int e = errno;

	for (; i < (n < PIECES ? n : PIECES); i++) {
		size_t bytes = __atomic_load_n(&pieces[i].bytes, __ATOMIC_ACQUIRE);
		uintptr_t start = mw_get(&pieces[i].start);

		if (!bytes && start != STRUCK)
			break; /* it is being written */
		if (bytes)
			(void)madvise((void *)start, bytes, MADV_DONTDUMP);
	}
	mw_set(&hidden, i);
	errno = e;
}

/* A page without access follows: the kernel joins neighbours, and what it joins may become huge pages. */
static size_t with_page(size_t bytes)
{
	return bytes + mw_page_size();
}

bool mw_arena_fill(void *room, size_t bytes)
{
	int e = errno;
	void *p =
		mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	errno = e;
	if (p == MAP_FAILED)
		return false;
	list(p, bytes);
	return true;
}

void *mw_arena_sparse(size_t bytes)
{
	char *p = mw_arena_room(with_page(bytes));

	if (p && !mw_arena_fill(p, bytes)) {
		mw_arena_return(p, with_page(bytes));
		p = NULL;
	}
	return p;
}

void mw_arena_unsparse(void *p, size_t bytes)
{
	strike(p);
	mw_arena_return(p, with_page(bytes));
}

bool mw_arena_empty(void *p, size_t bytes)
{
	int e = errno;
	bool ok;

	mw_assert(((uintptr_t)p | bytes) % mw_page_size() == 0);
	ok = madvise(p, bytes, MADV_DONTNEED) == 0;

	errno = e;
	return ok;
}

void mw_arena_each(void (*f)(uintptr_t start, size_t bytes, void *ctx), void *ctx)
{
	uint32_t n = mw_get(&pieces_n);

	for (uint32_t i = 0; i < (n < PIECES ? n : PIECES); i++) {
		size_t bytes = __atomic_load_n(&pieces[i].bytes, __ATOMIC_ACQUIRE);

		if (bytes)
			f(mw_get(&pieces[i].start), bytes, ctx);
	}
}

void *mw_arena_map_aside(size_t bytes, enum mw_arena_for what)
{
	void *p = mw_arena_lend(bytes);

	if (p) {
		mw_add(&held[what], bytes);
		list(p, bytes);
	}
	return p;
}

/* Maps bytes that were just taken; gives the room back if that fails. */
static void *map_taken(size_t bytes, enum mw_arena_for what)
{
	void *p = mw_arena_map_aside(bytes, what);

	if (!p)
		mw_add(&taken, -(uint64_t)bytes);
	return p;
}

void *mw_arena_grow(size_t bytes, enum mw_arena_for what)
{
	return take_room(bytes, what) ? map_taken(bytes, what) : NULL;
}

void *mw_arena_map(size_t bytes, enum mw_arena_for what)
{
	mw_add(&taken, bytes);
	return map_taken(bytes, what);
}

void mw_arena_unmap(void *p, size_t bytes, enum mw_arena_for what)
{
	if (!p)
		return;
	strike(p);
	mw_arena_return(p, bytes);
	mw_arena_give(bytes, what);
}

bool mw_arena_set_aside(size_t bytes, enum mw_arena_for what)
{
	return take_room(bytes, what);
}

void mw_arena_put_back(size_t bytes)
{
	mw_add(&taken, -(uint64_t)bytes);
}

/* --- texts --------------------------------------------------------------------- */

void mw_arena_use(void *(*alloc)(size_t), void (*release)(void *))
{
	text_alloc = alloc;
	text_free = release;
}

void *mw_arena_alloc(size_t bytes, enum mw_arena_for what)
{
	int e = errno;
	void *p = NULL;

	if (take_room(bytes, what)) {
		p = text_alloc(bytes);
		mw_add(p ? &held[what] : &taken, p ? bytes : -(uint64_t)bytes);
	}
	errno = e;
	return p;
}

void mw_arena_free(void *p, size_t bytes, enum mw_arena_for what)
{
	if (!p)
		return;
	mw_arena_give(bytes, what);
	text_free(p);
}
