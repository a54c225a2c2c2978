/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play_time.h - the recorded time, as the allocator sees it.
 *
 * Allocators give memory back after a time: jemalloc after 10 s, mimalloc after 10 ms or more. A recording is played
 * faster than it was recorded. So clock_gettime(2) answers recorded time to every caller in this program once
 * it is set, but to mw_now_ns and its like, which ask the kernel.
 */
#pragma once

#include <stdint.h>

/* The clocks go on from here: ns since the recording began. One thread at a time. */
void mw_play_time_set(uint64_t ns);
