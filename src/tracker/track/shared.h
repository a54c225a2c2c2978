/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared.h - calls of threads that may not go the fast way, and calls of the real allocator. */
#pragma once

#include "tracker/table/tail.h"
#include "track.h"

/* A call of the real allocator: one of its functions with its arguments. */
enum mw_how { MW_MALLOC, MW_CALLOC, MW_MEMALIGN, MW_POSIX_MEMALIGN, MW_ALIGNED_ALLOC, MW_VALLOC };
struct mw_alloc_call {
	enum mw_how how;
	size_t n, align; /* n: bytes, without the tail */
	int error; /* out, for MW_POSIX_MEMALIGN */
};
/* The size to ask for, with room for a tail where one is needed. Aligned blocks always get a
   tail: some allocators align a block as large as its alignment less than asked. */
static inline size_t mw_alloc_bytes(const struct mw_alloc_call *a)
{
	return a->how == MW_MALLOC || a->how == MW_CALLOC ? mw_padded(a->n) : mw_with_tail(a->n);
}
/* The real call for `bytes`. NULL, with the allocator's errno, if it fails. */
void *mw_alloc_real(struct mw_alloc_call *, size_t bytes);
/* Any call: a thread's first, quiet ones, a signal handler's, those after the thread's state. */
void *mw_alloc_shared(struct mw_alloc_call *, uintptr_t caller);
/* malloc, fast or not, of another caller than its own. */
void *mw_malloc_at(size_t n, uintptr_t caller);
/* The aligned ones, fast or not. */
void *mw_alloc_at(struct mw_alloc_call *, uintptr_t caller);
/* Counts a block off the fast way. It was asked for as mw_padded(n), or with room for a tail. */
void *mw_admit_shared(void *p, size_t n, uintptr_t caller);
void mw_free_shared(void *p);
void *mw_realloc_shared(void *p, size_t n, uintptr_t caller);
