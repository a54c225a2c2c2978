/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * musl.h - musl's own allocator beneath the hooks.
 *
 * Its calloc calls malloc, and its memalign, posix_memalign and valloc call aligned_alloc, by the names that
 * we interpose: each block would be counted twice. So ours are built on those two.
 *
 * Its blocks are read (shared/sys/musl_block.h) only if a handful of them agree with malloc_usable_size.
 */
#pragma once

#include "shared/sys/musl_block.h"
#include "real.h"

/* Puts these in their place, if the allocator of r is musl's own. */
void mw_real_musl(struct mw_real *r);

/* The allocator is musl's, and its blocks can be read. Written once, in mw_real_init. */
extern MW_HOT bool mw_real_musl_plain;
void mw_real_musl_try(void);
