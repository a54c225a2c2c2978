/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mem.h - memory from the kernel, never malloc's.
 *
 * Each piece is a zeroed mapping of its own, freed by its owner with the size that it has. The mappings are
 * shared ones, as malloc's never are: so a player tells its own memory from malloc's in /proc/self/maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* NULL: there is none left. */
void *mw_mem(size_t bytes);
void mw_mem_free(void *, size_t bytes);

/* An array that grows. Zeroed: empty. */
struct mw_array {
	void *p;
	size_t n, room; /* elements; what is behind n is zeroed, or was an element */
};
/* Room for one more element of this size. False: no memory; the array is as it was. */
bool mw_array_more(struct mw_array *, size_t element);
void mw_array_free(struct mw_array *, size_t element);
