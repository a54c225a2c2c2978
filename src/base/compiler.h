/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compiler.h - what the compiler and the linker are told: visibility, inlining, placement, likelihood. */
#ifndef MW_BASE_COMPILER_H
#define MW_BASE_COMPILER_H

#define MW_EXPORT __attribute__((visibility("default")))
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

#endif
