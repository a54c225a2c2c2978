/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play_calls.h - an event as a call of the allocator's, timed, and its block written to.
 *
 * Only the thread whose turn it is calls these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packed.h"
#include "play_clock.h"

struct mw_play_block {
	void *p; /* NULL: the allocation failed */
	uint64_t size; /* as the app asked for it */
};

struct mw_play_calls {
	struct mw_play_clock clock;
	struct mw_play_block *blocks; /* by their slots */
	uint64_t tail; /* bytes that are asked for on top */
	uint64_t untailed, untailed_128,
		untailed_1024; /* of which blocks they aren't: recording/writer/record.h */
	uint64_t page, recorded_page; /* bytes of a page, here and there */
	uint64_t fill_most; /* bytes written to a large block whose pages aren't known */
	bool trims; /* malloc_trim is the allocator's */
	uint64_t live; /* bytes asked for, without tails */
	uint64_t births, failed;
};

void mw_play_call(struct mw_play_calls *, const struct mw_packed_event *);

/* "glibc 2.36", "jemalloc 5.3.0", or the name of the file that malloc is from. glibc: may be NULL. */
void mw_play_allocator(char *to, size_t room, bool *glibc);
