/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * musl.h - musl's own allocator beneath the hooks.
 *
 * Its calloc calls malloc, and its memalign, posix_memalign and valloc call aligned_alloc, by the names that
 * we interpose: each block would be counted twice. So ours are built on those two.
 */
#pragma once

#include "real.h"

/* Puts these in their place, if the allocator of r is musl's own. */
void mw_real_musl(struct mw_real *r);
