/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quick.h - time without a system call, for the way of an allocation.
 *
 * A program may lock itself into a sandbox that allows what its allocator needs, and no more. The
 * kernel's own code in each process (vDSO) tells the time there, even if a preload interposes
 * clock_gettime. On some virtual machines it makes a system call for a fine time, but never for a
 * coarse one. A process without that code gets the time by a system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds out, once. Until then each time takes a system call. */
void mw_quick_start(void);
/* ns of CLOCK_MONOTONIC; behind by some ms, and in steps of as many, if the time is coarse. */
uint64_t mw_quick_ns(void);
bool mw_quick_coarse(void);

static inline uint64_t mw_quick_ms(void)
{
	return mw_quick_ns() / 1000000;
}
