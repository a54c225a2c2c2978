/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own.h - the tracker's own memory.
 *
 * Tables that live as long as the process come from mmap, on demand, in
 * pieces; they are never unmapped, so a reader may follow any pointer into
 * them at any time. Short texts come from the real allocator underneath.
 * Neither is ever seen by the counters. Any thread may call; a signal
 * handler may call own_map only. errno is kept.
 */
#ifndef MW_TABLE_OWN_H
#define MW_TABLE_OWN_H

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

/* Relaxed accesses: a word with one writer, or one that orders nothing. */
#define mw_get(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define mw_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
/*
 * Add by the word's only writer: no locked read-modify-write needed. One
 * instruction where there is one, which no signal can split; *p has 64 bits.
 */
#if defined(__x86_64__)
#define mw_bump(p, n) __asm__("addq %1, %0" : "+m"(*(p)) : "er"((uint64_t)(n)) : "cc")
#else
#define mw_bump(p, n) mw_set((p), mw_get(p) + (n))
#endif
/* Add to a word that several threads write. */
#define mw_add(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)

/* bytes of zeroed memory, page-aligned, left out of core dumps; NULL: none. */
void *mw_own_map(size_t bytes);
/* Gives back what mw_own_map gave: for temporary tables, and lost races. */
void mw_own_unmap(void *p, size_t bytes);
/* Bytes held by the tracker now: mapped, plus texts. */
uint64_t mw_own_bytes(void);

/* Small texts. The functions are libc's until mw_own_use() names others. */
void mw_own_use(void *(*alloc)(size_t), void (*release)(void *));
void *mw_own_alloc(size_t bytes);
void mw_own_free(void *p, size_t bytes);

#endif
