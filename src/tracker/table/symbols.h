/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols.h - the shown names of native locations, by id.
 *
 * Apart from the locations: most of these have none, and a process that nobody looks at has no
 * name at all. symbolize.c makes the names. Any thread; no locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The name of id, or NULL. The caller keeps the location, so the name stays (callsite.h: Lifetime). */
const char *mw_symbol(uint32_t id);
/* Is there room for a name of id? Maps it. False: no memory. */
bool mw_symbol_room(uint32_t id);
/*
 * Gives id a name, which is from mw_arena_alloc and has the exact size of its text. False: it has
 * one, or mw_symbol_room wasn't asked; the caller keeps its own.
 */
bool mw_symbol_set(uint32_t id, char *name);
/* For callsite.c: after the location's last use. */
void mw_symbol_drop(uint32_t id);
