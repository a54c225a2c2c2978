/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beneath.h - a driver's functions beneath the tracker.
 *
 * At first that is the sanitizer's malloc, whose blocks end where they were
 * asked to end: a tail in the wrong place is found. beneath_like_glibc() lays
 * glibc's chunks on top of it, which the tracker's short ways read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the first app_malloc. ruby: the short way of a Ruby process, with beneath_gc its GC.count. */
void beneath_like_glibc(bool ruby);
extern uint32_t beneath_gc;

/*
 * A sanitizer's allocator, unlike the C library's, may be caught with its locks
 * held by a fork: from serial on, which is to be called before there are threads,
 * one thread at a time is in it, and none between lock and unlock. (Not in the
 * other modes: what a lock orders, no sanitizer calls a race.)
 */
void beneath_serial(void);
void beneath_lock(void);
void beneath_unlock(void);

/* Is the calling thread in the allocator, where a signal's handler may not be? */
bool beneath_inside(void);

/* From now on the n-th mmap of the tracker fails; all: and each one after it. 0: none. */
void beneath_fail_mmap(unsigned n, bool all);
/* Those asked for since. */
unsigned beneath_mmaps(void);
