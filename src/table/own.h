/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own.h - the tracker's own memory.
 *
 * Tables that live as long as the process come from mmap, on demand, in
 * pieces; they are never unmapped, so a reader may follow any pointer into
 * them at any time. Short texts come from the real allocator underneath.
 * Neither is ever seen by the counters. Any thread may call; a signal
 * handler may call own_map and own_grow only. errno is kept.
 *
 * The ceiling (option memory_max) covers all that stays: locations and their
 * texts, live records, threads' states, and what a reset will need, which is
 * set aside with the locations. It does not cover what a reader needs while
 * it reads (own_lend), so that pages work when it is reached. What gives way
 * first is decided by shares of it: enum mw_own_use.
 */
#ifndef MW_TABLE_OWN_H
#define MW_TABLE_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ours alone: reached without the linker's table, also from other files. */
#define MW_HIDDEN __attribute__((visibility("hidden")))
#define MW_INLINE static inline __attribute__((always_inline))
/*
 * What every allocation reads and hardly anything writes lies side by side,
 * in as few cache lines as it needs: Ruby's interpreter wants the others.
 */
#define MW_HOT __attribute__((visibility("hidden"), section("mw_hot")))
/* … and of more than one word: or the compiler aligns it to more than that. */
#define MW_HOT_STRUCT MW_HOT __attribute__((aligned(8)))
#define mw_likely(x) __builtin_expect(!!(x), 1)
#define mw_unlikely(x) __builtin_expect(!!(x), 0)

/*
 * ThreadSanitizer sees what this code orders by atomics, but neither liburcu's
 * work, which isn't compiled with it, nor what membarrier(2) promises. Under it
 * alone these say: what was written before the one on p is read after the other.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define mw_hand_over(p) __tsan_release((void *)(uintptr_t)(p))
#define mw_take_over(p) __tsan_acquire((void *)(uintptr_t)(p))
#else
#define mw_hand_over(p) ((void)(p))
#define mw_take_over(p) ((void)(p))
#endif

/* Relaxed accesses: a word with one writer, or one that orders nothing. */
#define mw_get(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define mw_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
/*
 * Add by the word's only writer: no locked read-modify-write needed. One
 * instruction where there is one, which no signal can split; *p has 64 bits.
 * (Sanitizers don't look into it: they get the other form.)
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define mw_bump(p, n) __asm__("addq %1, %0" : "+m"(*(p)) : "er"((uint64_t)(n)) : "cc")
/* The same with release: whoever reads it, and then acquires, sees all that came before. */
#define mw_bump_release(p, n) mw_bump(p, n) /* here every store is one */
#else
#define mw_bump(p, n) mw_set((p), mw_get(p) + (n))
#define mw_bump_release(p, n) __atomic_store_n((p), mw_get(p) + (n), __ATOMIC_RELEASE)
#endif
/* Takes 1 away from a word of 32 bits with one writer; true: it was 0, and is all ones now. */
MW_INLINE bool mw_lower(uint32_t *word)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool below;

	__asm__("subl $1, %0" : "+m"(*word), "=@ccc"(below));
	return below;
#else
	return (*word)-- == 0;
#endif
}
/* Is that what the word says? Acquire; in one instruction where there is one. */
MW_INLINE bool mw_says(const uint32_t *word, uint32_t what)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool is;

	__asm__ volatile("cmpl %1, %2" : "=@cce"(is) : "r"(what), "m"(*word) : "memory");
	return is;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == what;
#endif
}
/* Adds to a word of 64 bits with one writer; true: it is not below 0 now. */
MW_INLINE bool mw_raise(int64_t *word, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool not_below;

	__asm__("addq %2, %0" : "+m"(*word), "=@ccns"(not_below) : "er"(n));
	return not_below;
#else
	return (*word += (int64_t)n) >= 0;
#endif
}
/* Add to a word that several threads write. */
#define mw_add(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)
#define mw_add_release(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELEASE)

/* What may still grow near the ceiling: each may use all that those before it may, and some more. */
enum mw_own_for {
	MW_OWN_LOCATION, /* seven eighths of it */
	MW_OWN_RECORD,   /* fifteen sixteenths */
	MW_OWN_THREAD,   /* all of it, as the next: */
	MW_OWN_NAME      /* what native locations are called */
};
enum { MW_OWN_LEAST = 2 << 20 }; /* bytes: what any process needs at its start, and a little */

/* The ceiling in bytes, MW_OWN_LEAST at least; 0: none. What is held already stays. */
void mw_own_limit(uint64_t bytes);
uint64_t mw_own_max(void);
/* Bytes held now: mapped for good, plus texts. Never above mw_own_max(), but for what was held before. */
uint64_t mw_own_bytes(void);

/*
 * bytes of zeroed memory for good, page-aligned, left out of core dumps;
 * NULL: none, or the ceiling is reached.
 */
void *mw_own_grow(size_t bytes, enum mw_own_for);
/* The same whatever the ceiling says. For what was set aside, see below. */
void *mw_own_map(size_t bytes);
/* Gives back what these gave: for lost races. */
void mw_own_unmap(void *p, size_t bytes);
/* Sets bytes aside under the ceiling, for one mw_own_map_aside() of as many later. False: no room. */
bool mw_own_set_aside(size_t bytes, enum mw_own_for);
void mw_own_put_back(size_t bytes); /* it wasn't needed */
void *mw_own_map_aside(size_t bytes);

/* As mw_own_map for a while; not counted. */
void *mw_own_lend(size_t bytes);
void mw_own_return(void *p, size_t bytes);

/* Small texts. The functions are libc's until mw_own_use() names others. NULL as mw_own_grow. */
void mw_own_use(void *(*alloc)(size_t), void (*release)(void *));
void *mw_own_alloc(size_t bytes, enum mw_own_for);
void mw_own_free(void *p, size_t bytes);

#endif
