/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_code.h - which allocations are those of Ruby's compilers, YJIT and ZJIT, and not of the line that runs.
 *
 * Both are written in Rust. The linker puts their functions into a few ranges of the code of the object that
 * Ruby's functions are in. Its table of symbols tells where, as Rust's names have a form of their own. The
 * caller of malloc lies in one of these ranges if, and only if, a compiler allocates: these blocks have a
 * location of their own, MW_CS_JIT. A file without such a table tells nothing. Then these blocks count at
 * the line that was compiled.
 */
#pragma once

#include "frame.h"

enum { MW_JIT_RANGES = 32 };

/* From an address on, so many bytes. */
struct mw_code_range {
	uintptr_t from, bytes;
};

/*
 * c: Ruby's own functions around its malloc, between two ranges of Rust's; all addresses at first. Most callers
 * of malloc are there, so the first look is usually the last. rust: bytes 0 for none. Relaxed: they are stored
 * before c.
 */
struct mw_jit_code {
	struct mw_code_range c;
	struct mw_code_range all; /* from the first of Rust's to the last */
	struct mw_code_range rust[MW_JIT_RANGES];
};
extern MW_HOT_STRUCT struct mw_jit_code mw_jit_code;

MW_INLINE bool mw_code_has(const struct mw_code_range *r, uintptr_t at)
{
	return at - mw_get(&r->from) < mw_get(&r->bytes);
}

bool mw_jit_code_has(uintptr_t at); /* in one of Rust's ranges */

/* Is this caller of malloc a compiler? */
MW_INLINE bool mw_jit_compiles(uintptr_t caller)
{
	return mw_unlikely(!mw_code_has(&mw_jit_code.c, caller)) && mw_jit_code_has(caller);
}

/* Are the ranges known? */
static inline bool mw_jit_is_apart(void)
{
	return mw_get(&mw_jit_code.c.bytes) != UINTPTR_MAX;
}

/* The name in stats.json. */
const char *mw_jit_blocks_name(void);

/*
 * Looks for the ranges, once, and has the mode chosen anew. It reads the object's file, which takes a few
 * milliseconds. Any thread, not in an allocation.
 */
void mw_jit_code_find(void);
