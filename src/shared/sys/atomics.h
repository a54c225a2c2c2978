/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * atomics.h - short names for the accesses to shared words, each with its memory ordering.
 *
 * A word with one writer needs no locked instruction. On x86-64 some accesses are a single
 * instruction, so no signal can split them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/*
 * ThreadSanitizer sees the order that this code's atomics make. It doesn't see that of liburcu,
 * which isn't compiled with it, nor that of membarrier(2). For it alone these two say:
 * writes before mw_hand_over(p) are seen by reads after mw_take_over(p).
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
 * Adds to a word of 64 bits by its only writer: no locked read-modify-write is needed. On x86-64
 * one instruction, so no signal can split it. (Sanitizers can't look into it: they get the
 * other form.)
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define mw_bump(p, n) __asm__("addq %1, %0" : "+m"(*(p)) : "er"((uint64_t)(n)) : "cc")
/* The same with release: a thread that reads the word, then acquires, sees all earlier writes. */
#define mw_bump_release(p, n) mw_bump(p, n) /* on x86-64 every store is a release */
#else
#define mw_bump(p, n) mw_set((p), mw_get(p) + (n))
#define mw_bump_release(p, n) __atomic_store_n((p), mw_get(p) + (n), __ATOMIC_RELEASE)
#endif
/* Subtracts 1 from a word of 32 bits with one writer; true: it was 0, and is all ones now. */
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
/* Subtracts n from a word of 32 bits with one writer; true: the word is below 0 now. */
MW_INLINE bool mw_sink(int32_t *word, uint32_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool below;

	__asm__("subl %2, %0" : "+m"(*word), "=@ccs"(below) : "er"(n));
	return below;
#else
	return (*word -= (int32_t)n) < 0;
#endif
}
/* Does the word have that value? Acquire; one instruction on x86-64. */
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
/* Is n as large as the word, or larger? Relaxed; the same in one instruction. */
MW_INLINE bool mw_reaches(size_t n, const size_t *word)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool is;

	__asm__("cmpq %2, %1" : "=@ccae"(is) : "r"(n), "m"(*word));
	return is;
#else
	return n >= mw_get(word);
#endif
}
/* Subtracts from a word of 64 bits with one writer; true: it wasn't more than n, and is left at 0 or has wrapped. */
MW_INLINE bool mw_spends(uint64_t *word, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	bool is;

	__asm__ volatile("subq %2, %0" : "+m"(*word), "=@ccbe"(is) : "r"(n) : "memory");
	return is;
#else
	uint64_t had = mw_get(word);

	mw_set(word, had - n);
	return had <= n;
#endif
}
/* Adds to a word of 64 bits with one writer; true: the word is not below 0 now. */
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
/* Adds to a word that several threads write. */
#define mw_add(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)
#define mw_add_release(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELEASE)
