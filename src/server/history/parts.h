/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts.h - the parts of the process's resident memory (RSS).
 *
 * Each second /proc/self/statm tells RSS and mapped files, and the tracker what is live, Ruby's
 * heap and its own memory. The other parts need /proc/self/smaps, which costs the kernel a walk
 * over all pages. So it is read once in 10 s at most, if RSS has changed since; else once a minute;
 * and never for more than MW_PARTS_SHARE of a CPU. Between two readings the last figures hold, and
 * what is live in the arenas now isn't free.
 *
 * A mapping belongs to
 *   files    if it has a file. Private copies of its pages are anonymous memory.
 *   arenas   if it is [heap], or one of glibc's other arenas: 64 MiB of address space, at a
 *            multiple of 64 MiB, whose first part is in use and whose rest has no access. An arena
 *            is also where the tracker knows a small block.
 *   stacks   if it is [stack], or lies right above a guard: 64 KiB at most, without access. The C library's have none
 *            in a mapping of its own from glibc 2.42 and Linux 6.13 on. But the kernel has flagged what is mapped for
 *            stacks since 6.7: no huge page is made of it (nh). With another allocator than glibc's, which may ask for
 *            that itself, guards must lie in it, which newer kernels tell (gu). Older kernels join a stack to what an
 *            app has mapped right above it: that is anon, if the tracker knows the stack's thread.
 *   anon     otherwise.
 *
 * free = resident memory of arenas, less the live blocks there with their overhead.
 * anon = resident memory of the other mappings, less large blocks there, Ruby's heap pages and the
 * tracker's own memory: its tables, and the blocks of its threads. With another allocator than glibc's,
 * arenas can't be told from the rest: `free` is then not known, and all live blocks are taken from `anon`.
 *
 * No allocation, but for the tracker's list of large blocks; no lock; no stdio.
 */
#pragma once

#include "history.h"

enum {
	MW_PARTS_SECONDS = 10,      /* between two readings, if RSS has changed */
	MW_PARTS_SECONDS_MAX = 60,  /* if it hasn't */
	MW_PARTS_SHARE = 3333       /* readings cost 1/MW_PARTS_SHARE of a CPU at most: 0.03 % */
};

/* The sums of a text of /proc/self/smaps, in bytes of resident memory. */
struct mw_smaps {
	uint64_t files;  /* of mappings of files, but for private copies */
	uint64_t arenas;
	uint64_t stacks;
	uint64_t anon;   /* the rest, large blocks included; private copies of files' pages */
	uint64_t large;  /* of `anon`: the large blocks' */
	/* live bytes and number of the large blocks outside of arenas */
	uint64_t outside, outside_n;
};

/*
 * Reads such a text in pieces, through `read`, which returns bytes, 0 at the end, -1 on error. The
 * places are those of mw_api.places(), sorted by address. NULL: there are none, and the mappings'
 * shapes alone tell. If the places have threads, the text must be about this process. False: it can't be read,
 * or isn't of that form.
 */
bool mw_smaps_read(struct mw_smaps *, long (*read)(void *ctx, char *to, size_t n), void *ctx,
		   const struct mw_places *);
/* The same from a descriptor, from its start. */
bool mw_smaps_read_fd(struct mw_smaps *, int smaps, const struct mw_places *);

/* The tracker's own memory in bytes: its tables, and its threads' blocks, which grow with each page. */
uint64_t mw_parts_tracker(const struct mw_stats *);

/* The last reading; all zero: none yet. */
struct mw_parts {
	bool known;
	bool glibc;             /* arenas can be told from the rest */
	uint32_t anon, stacks;  /* KiB */
	uint64_t arenas, outside, outside_n; /* as in mw_smaps */
	uint32_t at;          /* uptime of the reading */
	uint32_t next;        /* not before that second */
	uint64_t rss;         /* then */
	uint64_t cost;        /* its CPU time in ns */
};

/*
 * Fills p's parts `free`, `anon` and `stacks`, after a reading if one is due. p->t and p->rss are
 * set. smaps: a descriptor of /proc/self/smaps that this process opened; -1: none now.
 */
void mw_parts_second(struct mw_parts *, const struct mw_api *, const struct mw_stats *, int smaps,
		     struct mw_point *p);
