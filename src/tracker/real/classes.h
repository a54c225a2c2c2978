/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.h - facts about jemalloc, mimalloc and tcmalloc, so that a malloc and a free need no
 * call to ask for a block's size.
 *
 * Each of them says in a documented function how much room a request gets: nallocx, mi_good_size,
 * tc_nallocx. The answers for small requests are kept in a table. It stays empty, and nothing is
 * lost but time, if a handful of blocks don't have the room that malloc_usable_size says.
 *
 * A free needs the block's size to find the tail. These allocators cut a page of memory into blocks
 * of one class, so a small cache by page guesses it (mw_class_guess). A guess counts only if the
 * tail found there leads to the block's own record, and that record's size has this class
 * (mw_class_agrees). mw_lead keeps any other block from passing for one of these. If the guess is
 * wrong, the allocator is asked, from its own map of the address. The size is handed on to a sized
 * free, where there is one (sdallocx, tc_free_sized): that saves the allocator a look at its map.
 *
 * All but the cache is written once, in mw_real_init, and read by any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/sys/compiler.h"

enum { MW_CLASS_STEP = 8, MW_CLASS_MAX = 4096, MW_CLASS_LEAST = 16 };
/*
 * Where size classes end: a request of n bytes has just that room, and one of 8 more has a sixteenth more at least.
 * Bit n / MW_SMALL_STEP - 1 of mw_class_small_ends stands for n up to MW_CLASS_MAX, bit n / MW_KIB - 1 of
 * mw_class_ends for n above it, up to 64 * MW_KIB. Written by mw_classes_fill.
 */
enum { MW_SMALL_STEP = 128, MW_KIB = 1024 };
extern MW_HIDDEN uint32_t mw_class_small_ends;
extern MW_HIDDEN uint64_t mw_class_ends;
MW_INLINE bool mw_class_ends_at(size_t n)
{
	if (n <= MW_CLASS_MAX)
		return n % MW_SMALL_STEP == 0 && mw_class_small_ends >> (n - 1) / MW_SMALL_STEP & 1;
	return n % MW_KIB == 0 && (n - 1) / MW_KIB < 64 && mw_class_ends >> (n - 1) / MW_KIB & 1;
}

/* With classes: may a block with that much room have no tail (tracker/table/tail.h)? */
enum { MW_BESIDE = 512 };
MW_INLINE bool mw_goes_beside(size_t n)
{
	return n >= MW_BESIDE && ((n & (n - 1)) == 0 || mw_class_ends_at(n));
}

/*
 * The allocator beneath is one of these. Each power of two is one of its size classes, and the next
 * class is a fifth larger or more.
 */
extern MW_HIDDEN bool mw_real_classes;
/*
 * The room for a request of i * MW_CLASS_STEP bytes, or some less; 0: not known. No less than
 * MW_CLASS_LEAST bytes are asked for.
 */
extern MW_HIDDEN uint16_t mw_class_room[MW_CLASS_MAX / MW_CLASS_STEP + 1];
/*
 * The room of a block that was asked for with n bytes and a tail of 8, if it has the least class
 * for them; 0: not known, or no small class.
 */
MW_INLINE size_t mw_class_of(size_t n)
{
	return mw_likely(n <= MW_CLASS_MAX - 8) ?
		       mw_class_room[(n + 8 + MW_CLASS_STEP - 1) / MW_CLASS_STEP] :
		       0;
}

/*
 * A page of memory as it was last seen: its number's low 32 bits, the room of its blocks, and how
 * many sizes of request are sure to have that room with a tail in it. Any thread reads and writes entries, relaxed. An entry may
 * be old, or another page's, and its two words of two writers.
 */
struct mw_class_page {
	uint32_t number;
	uint32_t tail; /* in the low half: room - 8; in the high half the number of sizes */
};
enum { MW_CLASS_PAGE_SHIFT = 12, MW_CLASS_PAGES = 4096 };
extern MW_HIDDEN struct mw_class_page mw_class_pages[MW_CLASS_PAGES];

MW_INLINE struct mw_class_page *mw_class_page(const void *p)
{
	return &mw_class_pages[(uintptr_t)p >> MW_CLASS_PAGE_SHIFT & (MW_CLASS_PAGES - 1)];
}

/* A guess at a block's room, and at the number of sizes that have it. */
struct mw_class_guess {
	size_t tail; /* room - 8 */
	uint32_t both; /* as the page's entry has it */
};

/*
 * False: nothing is known of p's page, or the block would go on in the next one. Else the guess may
 * be wrong, but p and room bytes from it lie in one page. So they can be read if p can.
 */
MW_INLINE bool mw_class_guess(const void *p, struct mw_class_guess *g)
{
	const struct mw_class_page *page = mw_class_page(p);
	uint32_t both;

	__asm__("" : "+r"(page)); /* one address for both words: else the compiler computes two */
	both = __atomic_load_n(&page->tail, __ATOMIC_RELAXED);
	g->tail = both & UINT16_MAX;
	g->both = both;
	/* p's next page has another entry, so this is p's own */
	return mw_likely((uint32_t)(((uintptr_t)p + g->tail + 7) >> MW_CLASS_PAGE_SHIFT) ==
			 __atomic_load_n(&page->number, __ATOMIC_RELAXED));
}

/*
 * Has a block for `size` bytes and a tail of 8 this room? False for a size that goes beside, and the
 * smaller ones of its class: such a block may end where an old tail of its own still lies.
 */
MW_INLINE bool mw_class_agrees(const struct mw_class_guess *g, uint32_t size)
{
	return (uint32_t)g->tail - size < g->both >> 16;
}

/* p is a live block with that room. */
void mw_class_learn(const void *p, size_t room);

/* The same as the real free, for a block of the allocator's with that room; flags: 0. */
typedef void mw_class_free_fn(void *, size_t room, int flags);
extern MW_HIDDEN mw_class_free_fn *mw_class_free;
/* The same for a block whose class is that of its size: nothing asked for it aligned. */
extern MW_HIDDEN mw_class_free_fn *mw_class_free_small;
/* All ones if they hold: the allocator is one of these. Else 0. */
extern MW_HIDDEN uintptr_t mw_class_plain;

/*
 * malloc_usable_size of another allocator than glibc's; MW_ROOM_UNKNOWN if that says no more.
 * tcmalloc says 0 until its own constructor ran, while other libraries' constructors allocate.
 */
enum { MW_ROOM_UNKNOWN = 8 }; /* a tail's place, which every block has */
size_t mw_class_size(const void *p);

/* Finds out; `malloc` and the others of mw_real are known. */
void mw_classes_init(void);
/* A function of the allocator's own, in the same object as its malloc; NULL: none. */
void *mw_real_own(const char *name);
/* "glibc", "jemalloc", "mimalloc" or "tcmalloc"; "": another one. Once mw_real_init was called. */
const char *mw_real_allocator(void);
/*
 * The addresses from which another allocator than the C library's maps memory, while it holds its locks: those of its
 * object; all, if it isn't known; 0 bytes: none.
 */
extern MW_HIDDEN uintptr_t mw_allocator_start, mw_allocator_bytes;
/*
 * Makes the allocator give free memory back to the system: malloc_trim(3), or what this one has for
 * it. False: it says that there was none, or has no such function. It may hold the allocator's locks for long.
 */
bool mw_real_trim(void);
/* Fills the tables, once the allocator tells the room of its blocks. One thread. */
void mw_classes_fill(void);
/* Are the tables filled? */
bool mw_classes_known(void);
