/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapped.h - anonymous memory that the application maps and unmaps itself: see tracker/table/mappings.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/table/mappings.h"

/*
 * Is what the code at `caller` maps now noted? Not if the thread may not go on (it is quiet, busy, or new),
 * tracking is off or paused, or the caller is the allocator.
 */
bool mw_track_notes(uintptr_t caller);
/* Then: n bytes from p on were mapped. Keeps errno. */
void mw_track_mapped(uintptr_t p, size_t n, uintptr_t caller);
