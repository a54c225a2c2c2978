/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core.h - shared by the drivers' modes (core.c describes each): blocks
 * whose size and contents are known, what was done with them, and threads.
 */
#pragma once

#include "../../src/tracker/table/snapshot.h"
#include "../../src/tracker/process/process.h"
#include "../../src/tracker/real/real.h"
#include "../../src/tracker/table/generation.h"
#include "../../src/tracker/track/admit.h"
#include "../../src/tracker/track/dismiss.h"
#include "../../src/tracker/track/shared.h"
#include "../lib/site.h"
#include "beneath.h"
#include "renamed.h"

enum { THREADS = 4, PLACES = 3000 };

static const struct mw_api *const a = &mwrap_api;
extern bool finished;           /* atomic: all_threads' are done */
extern bool starving;           /* no memory is an answer */
extern struct timespec a_while; /* between two looks of all_threads' reader */

/* The application's own count since the last reset; relaxed. */
extern struct did {
	uint64_t calls, bytes, frees, freed;
} did;

struct block {
	size_t size;
	unsigned char fill[];
};

/* From one of many places: addresses that belong to no module. */
static inline uintptr_t place(size_t i)
{
	return 0x1000 + 8 * (uintptr_t)i;
}

/* By one of the family's calls, at one of PLACES places; never NULL. */
struct block *make(unsigned k);
/* The same of a block that was made otherwise. */
void made(struct block *b, size_t n);
void drop(struct block *b);
struct block *regrow(struct block *b, size_t n);

/* Compares all sums; resets: only what lives is known. */
void sums(const char *when, bool resets);
/* Everything that reads; some pages, in turn. */
void look(unsigned i);
/* Runs run(0), run(1), ... to their end; polled: while another thread looks, and resets. */
void all_threads(void *(*run)(void *), bool polled, bool resets);

/* table.c */
void sweep(void);
void refuse(void);
void sizes(void);
/* life.c */
void threads(void);
void forks(void);
void signals(void);
