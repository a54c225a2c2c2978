/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_roots.h - native memory from which blocks are held: libraries' variables and threads' stacks.
 *
 * Found in the parent, where other threads still run. A thread's stack counts from its stack pointer
 * on, which the kernel tells of a thread that doesn't run; its thread-local variables lie behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MW_AREAS = 4096, MW_AREA_NAME = 48 };

struct mw_area {
	uintptr_t start, end;
	uintptr_t within; /* an address: the area ends with its mapping; 0: it is as long as it is */
	bool ended; /* of a thread that is gone: what its variables lead to isn't held */
	bool stack; /* it also ends where it can't be read: with the next thread's guard page */
	char name[MW_AREA_NAME];
};

struct mw_areas {
	uint32_t n, unread; /* unread: threads whose stack pointer isn't known */
	uintptr_t sp;       /* of the thread that forks: the child's own frames are below it */
	uintptr_t main_thread;
	uintptr_t linker, linker_end; /* the dynamic linker's variables */
	struct mw_area v[MW_AREAS];
};

/* A mapping of this process. */
struct mw_mapping {
	uintptr_t start, end;
};

/*
 * In the parent. main_thread: its pthread_self(), 0 if that isn't known. sp: an address in this thread's stack. The
 * stack counts from there on. The frames of what the child calls must be below it.
 */
void mw_areas_find(struct mw_areas *, uintptr_t main_thread, uintptr_t sp);

/* In the child, with its readable mappings, which are sorted: sets the bounds of stacks, and adds those of ended threads. */
void mw_areas_bound(struct mw_areas *, const struct mw_mapping *, size_t n);
/* ended_threads.c: adds what leads to thread-local variables of ended threads. */
void mw_areas_of_ended(struct mw_areas *, const struct mw_mapping *, size_t n);
void mw_area_add_ended(struct mw_areas *, uintptr_t start, uintptr_t end);

/* Reads up to `room` readable mappings, sorted, without allocating. Returns their number; 0: none. */
size_t mw_mappings_read(struct mw_mapping *, size_t room);
/* The mapping with `at` in it, by a binary search; NULL: none. */
const struct mw_mapping *mw_mapping_of(const struct mw_mapping *, size_t n, uintptr_t at);
