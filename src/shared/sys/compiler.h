/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compiler.h - attributes for compiler and linker: visibility, inlining, placement, likelihood. */
#pragma once

#define MW_EXPORT __attribute__((visibility("default")))
/* For the tracker alone: reached without the linker's table, also from other files. */
#define MW_HIDDEN __attribute__((visibility("hidden")))
#define MW_INLINE static inline __attribute__((always_inline))
/*
 * Words that every allocation reads, and that seldom change, lie side by side in few cache
 * lines: Ruby's interpreter needs the others.
 */
#define MW_HOT __attribute__((visibility("hidden"), section("mw_hot")))
/* The same for structs: without it the compiler aligns them to more than a word. */
#define MW_HOT_STRUCT MW_HOT __attribute__((aligned(8)))
/*
 * The functions of the usual ways of malloc and free lie in a row, in the order of their numbers, which have
 * two digits. The linker sorts such sections by name. So these functions take few lines of the instruction cache, and
 * no two of them compete for a place there.
 */
#define MW_ROW(number) __attribute__((hot, section(".text.sorted.mw_" #number)))
#define MW_LINE __attribute__((aligned(64)))
#define mw_likely(x) __builtin_expect(!!(x), 1)
#define mw_unlikely(x) __builtin_expect(!!(x), 0)
