/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.h - the mappings of this process, and where its threads' stacks are.
 *
 * From /proc/self, without an allocation, a lock or stdio: a child made by clone() may call it, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mw_maps_line {
	uintptr_t start, end;
	bool read, write, shared;
	bool special; /* of the kernel, which may not let it be read: [vvar], [vdso] ... */
	const char *name; /* valid during the call; "": anonymous; a long one is cut at its end */
};

/* Calls f with each mapping, by address. False: the file can't be read. */
bool mw_maps_each(void (*f)(const struct mw_maps_line *, void *ctx), void *ctx);

/* The same, without names, and with the bytes of each mapping that are in memory or swapped out: it takes longer. */
bool mw_smaps_each(void (*f)(const struct mw_maps_line *, uint64_t kept, void *ctx), void *ctx);

/* Calls f with each number that names an entry of a folder, in no order. False: it can't be read. */
bool mw_numbers_each(const char *folder, void (*f)(int number, void *ctx), void *ctx);
/* Calls f with the id of each thread, in no order. */
void mw_tasks_each(void (*f)(pid_t, void *ctx), void *ctx);
/* The stack pointer of a thread that doesn't run, from the kernel; 0: it runs, or that isn't known. */
uintptr_t mw_task_stack_pointer(pid_t task);
