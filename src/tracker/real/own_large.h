/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_large.h - large blocks of the tracker's own threads, in mappings of their own.
 *
 * glibc learns: the free of a block that has a mapping of its own raises the size from which on blocks get
 * one, and the free memory that an arena keeps to twice that size. So a page of 1 MB that the server
 * once made would let the app keep 2 MB more at the end of each arena, for good. These blocks are
 * therefore not glibc's. They look like its blocks with mappings of their own: their room can be read as
 * usual. Any thread may free them. Other allocators don't learn so: they get all blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Smaller ones are the allocator's. glibc's own least is 128 KiB, which an application may have lowered. */
enum { MW_OWN_LARGE_LEAST = 64 << 10 };

/* n zeroed bytes. NULL: not in this thread, not of this size, or no room: ask the allocator. Keeps errno. */
void *mw_own_large_alloc(size_t n);
/* Any block, live. */
bool mw_own_large_is(const void *p);
/* These two: if it is one. */
void mw_own_large_free(void *p);
size_t mw_own_large_size(const void *p); /* its room in bytes */
