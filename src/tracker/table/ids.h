/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ids.h - gives out the ids of locations; for callsite.c, and exit.c for the last two.
 *
 * callsite.h has what other files may know of ids. Lock-free.
 */
#pragma once

#include "callsite.h"

/*
 * Maps the chunk that an id (below MW_CS_MAX) indexes, and sets aside a later reset's memory for
 * it, unless that was done. False: no memory.
 */
bool mw_ids_ready(uint32_t id);

/*
 * An id without a tenant, MW_CS_FIRST to MW_CS_MAX - 1. Its memory is mapped, and holds what its
 * last tenant left there, or zeros. MW_CS_NONE: none is free, or no memory.
 */
uint32_t mw_id_take(void);

/* Gives an id back after its last use (callsite.h: Lifetime). Its kind becomes MW_CS_FREE. */
void mw_id_give(uint32_t id);

/*
 * From now on address space is kept for a dump, in case the app uses up all that RLIMIT_AS allows: ROOM for each
 * chunk of ids. No memory belongs to it. mw_ids_use_room gives it back, once, for the dump at exit.
 */
void mw_ids_keep_room(void);
void mw_ids_use_room(void);
