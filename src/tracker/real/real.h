/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * real.h - the real functions beneath the hooks: hooks.def lists them.
 *
 * Each pointer starts at a function that finds all of them with dlsym and calls on, so the usual
 * path needs no check. dlsym may itself allocate: own_blocks.h serves that. Its blocks may be
 * freed and realloc'ed at any time later.
 *
 * dlsym would find a function that the next allocator lacks in another library. The allocator
 * can't free blocks of that library: so the pointer is NULL and the caller does without
 * (jemalloc has no pvalloc).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracker/base/arena.h"
#include "classes.h"

struct termios;
struct winsize;

/* These functions must come from one allocator. */
struct mw_real {
#define MW_HOOK_REAL(name, result, params) result(*name) params;
#include "api/hooks.def"
};
extern MW_HOT_STRUCT struct mw_real mw_real;

/*
 * What the app's libraries call by these names, if that isn't ours: the program's, or a library's in front. The C
 * library's reallocarray and free_sized call them, so ours do. NULL: ours. Set by mw_real_init.
 */
struct mw_first {
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	bool all; /* the program has all that an allocator needs, and keeps it to itself */
};
extern struct mw_first mw_first;

/*
 * glibc keeps a chunk's size in the word before it, with flags in the low bits; one says that
 * the chunk was mmapped. In some glibc versions an mmapped chunk has a word less to use:
 * mw_real_mapped is the flag there, else 0. Reading the word saves two calls for each pair of
 * malloc and free. It is trusted only if the allocator beneath is glibc's and a handful of blocks
 * agree with malloc_usable_size.
 */
extern MW_HOT bool mw_real_glibc;
extern MW_HOT size_t mw_real_mapped;
/* Reason to do nothing in this process (untracked.h): calls pass through for ever. NULL: none. */
extern MW_HIDDEN const char *mw_real_aside;
MW_INLINE size_t mw_chunk_usable(const void *p)
{
	size_t w = ((const size_t *)p)[-1];

	return (w & ~(size_t)7) - 8 - ((w & mw_real_mapped) << 2);
}

/* True: a usual chunk, from the heap; *usable is its size in bytes. */
MW_INLINE bool mw_chunk_plain(const void *p, size_t *usable)
{
	size_t w = ((const size_t *)p)[-1];

	if (mw_unlikely(w & 2))
		return false;
	*usable = (w & ~(size_t)7) - 8;
	return true;
}

/* A live block's room. It may be unknown (classes.h): then it is MW_ROOM_UNKNOWN. */
MW_INLINE size_t mw_usable(const void *p)
{
	if (mw_likely(mw_real_glibc))
		return mw_chunk_usable(p);
	return mw_class_size(p);
}

/*
 * The next functions behind the other hooks, from any library. NULL: not found yet, or there is none. They
 * are all found at the start: a lookup takes the dynamic linker's lock, and a forked child may find that held by
 * a thread that isn't there.
 */
struct mw_next {
#define MW_HOOK_NEXT(name, result, params) result(*name) params;
#include "api/hooks.def"
};
extern MW_HIDDEN struct mw_next mw_next;

/*
 * True: the tracker was loaded into a process that ran already, so calls don't come to it by
 * themselves. The real functions are then those that the process calls first, not those after ours.
 * Blocks from before have no tail, and are never counted. Written once, by the tracker's constructor.
 */
extern MW_HIDDEN bool mw_real_joined;
/* For that constructor: was it? */
bool mw_real_joins(void);
/* Does the address lie in the program's own file, rather than in a library? */
bool mw_real_of_program(const void *);
/* Does the program define that function, in a table of symbols with GNU's hashes? */
bool mw_real_program_defines(const char *name);

/* Finds them all, unless that was done. Any thread. */
void mw_real_init(void);
/* next.c. The next function of that name after the tracker's, from any library; or NULL. Joined: the first but ours. */
void *mw_real_next(const char *name);
/*
 * Joined: a program that isn't position-independent may have an entry of its own for a library's
 * function. Other objects then take that for the function's address. NULL: it has none.
 */
void *mw_real_entry(const char *name);
/* Do both addresses lie in the same loaded object? */
bool mw_real_same_object(const void *, const void *);
