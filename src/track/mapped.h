/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapped.h - anonymous memory that the application maps and unmaps itself: see table/mappings.h. */
#ifndef MW_TRACK_MAPPED_H
#define MW_TRACK_MAPPED_H

#include <stddef.h>
#include <stdint.h>

#include "table/mappings.h"

/*
 * n bytes from p on were mapped by the code at `caller`. Notes them, unless the thread may not go on (it is
 * quiet, busy, or new), tracking is paused, or the caller is the allocator. Keeps errno.
 */
void mw_track_mapped(uintptr_t p, size_t n, uintptr_t caller);

#endif
