/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.h - what is known of jemalloc, mimalloc and tcmalloc, so that a malloc and a free need no
 * call to ask for a block's size.
 *
 * Each of them says in a documented function how much room a request gets: nallocx, mi_good_size,
 * tc_nallocx. The answers for small requests are kept in a table. It stays empty, and nothing is
 * lost but time, if a handful of blocks don't have the room that malloc_usable_size says.
 *
 * A free knows the size by a call, from the allocator's own map of the address. It hands it on to a
 * sized free, where there is one (sdallocx, tc_free_sized). That saves the allocator the same look
 * at its map, so both together cost little more than a plain free.
 *
 * Written once, in mw_real_init. Read by any thread.
 */
#ifndef MW_REAL_CLASSES_H
#define MW_REAL_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { MW_CLASS_STEP = 8, MW_CLASS_MAX = 4096, MW_CLASS_LEAST = 16 };

/*
 * The allocator beneath is one of these. Each power of two is one of its size classes, and the next
 * class is a fifth larger or more.
 */
extern MW_HIDDEN bool mw_real_classes;
/*
 * The room for a request of i * MW_CLASS_STEP bytes, or some less; 0: not known. No less than
 * MW_CLASS_LEAST bytes are asked for.
 */
extern MW_HIDDEN uint16_t mw_class_room[MW_CLASS_MAX / MW_CLASS_STEP + 1];
/* The same as the real free, for a block of the allocator's with that room; flags: 0. */
typedef void mw_class_free_fn(void *, size_t room, int flags);
extern MW_HIDDEN mw_class_free_fn *mw_class_free;
/* All ones if they hold: the allocator is one of these, and the boot arena was never used. Else 0. */
extern MW_HIDDEN uintptr_t mw_class_plain;

/*
 * malloc_usable_size of another allocator than glibc's; MW_ROOM_UNKNOWN if that says no more.
 * tcmalloc says 0 until its own constructor ran, while other libraries' constructors allocate.
 */
enum { MW_ROOM_UNKNOWN = 8 }; /* a tail's place, which every block has */
size_t mw_class_size(const void *p);

/* Finds out; `malloc` and the others of mw_real are known. */
void mw_classes_init(void);
/* Fills the table, once the allocator tells the room of its blocks. One thread. */
void mw_classes_fill(void);
/* Is the table filled? */
bool mw_classes_known(void);

#endif
