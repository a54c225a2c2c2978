/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_of.h - from a live block to its record, off the hot path: by the tail, or by the side index if the
 * block has none (tail.h). Any thread; no locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_record;

/* True if ref leads to a record, and the record is p's: *r. */
bool mw_ref_leads(uint32_t ref, const void *p, struct mw_record **r);

/*
 * The ref of p's record, *r; 0: it has none, is not counted, or the tail was written over. usable: p's room, at least a
 * tail's. A block that was freed past the tracker leaves its record: that may be another one's that had p's address.
 */
uint32_t mw_ref_of(const void *p, size_t usable, struct mw_record **r);
