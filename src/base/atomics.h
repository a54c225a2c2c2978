/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * atomics.h - short names for the accesses to shared words, each with its memory ordering.
 *
 * What has one writer needs no locked instruction; on x86-64 some are a single one, which no
 * signal can split.
 */
#ifndef MW_BASE_ATOMICS_H
#define MW_BASE_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

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

#endif
