/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mmap.h - Ruby's heap pages, as they are mapped and unmapped. */
#ifndef MW_HOOKS_MMAP_H
#define MW_HOOKS_MMAP_H

/* Sees them from now on. Before main, once mw_rb is filled in (caller/ruby/api.h), in a process with Ruby. */
void mw_heap_maps_init(void);

#endif
