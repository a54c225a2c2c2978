/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wrong_size.h - frees that are told another size than was asked for: C++'s sized operator delete,
 * C23's free_sized. glibc ignores the size. jemalloc and tcmalloc trust it, and corrupt their heap.
 * We pass on no size, so nothing happens while the tracker is loaded.
 *
 * They are counted at the location that allocated the block, beside its overruns. A block without a
 * record isn't looked at, nor is any while allocations are sampled.
 */
#pragma once

#include <stddef.h>

/* Looks at a block that is about to be freed as one of n bytes. p isn't NULL. Lock-free, async-signal-safe. */
void mw_wrong_size_look(const void *p, size_t n);
