/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play_memory.h - how much memory malloc has in this process.
 *
 * The player never calls malloc for itself: its memory is mw_mem's, in shared mappings. So malloc's is
 * what else is anonymous, but for stacks and libraries' data. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Notes where libraries' data are, and chooses how pages in memory are told. After the last library is
 * loaded, once. False: /proc/self/maps can't be read.
 */
bool mw_play_memory_begin(void);
/* Bytes of malloc's that are in memory, or swapped out. */
uint64_t mw_play_memory_of_malloc(void);
