/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * musl_block.h - reads a block of musl's allocator, as musl's free does.
 *
 * A block has exactly the room that was asked for. The four bytes before it lead to its group, this to the
 * group's description, and that says where the block's slot ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

enum { MW_MUSL_UNIT = 16, MW_MUSL_CLASSES = 64, MW_MUSL_PAGE = 4096 };
extern MW_HIDDEN const uint16_t mw_musl_units[MW_MUSL_CLASSES]; /* of a class's slots; 0: no class */

/* A group's description, as musl has it. */
struct mw_musl_meta {
	const void *links[2], *group;
	uint32_t masks[2];
	uint64_t last : 5, freeable : 1, class : 6, pages : 52; /* last: the number of its last slot */
};

MW_INLINE size_t mw_musl_stride(const struct mw_musl_meta *m)
{
	if (mw_unlikely(!m->last && m->pages))
		return m->pages * MW_MUSL_PAGE - MW_MUSL_UNIT;
	return (size_t)mw_musl_units[m->class] * MW_MUSL_UNIT;
}

/*
 * True: *usable is a live block's room. The word before p:
 *   bits 0-7    not 0: the distance to the group stands elsewhere
 *   bits 8-12   the slot's number
 *   bits 13-15  bytes of the slot behind the room; 5: the slot's last word tells how many
 *   bits 16-31  the distance from the group's first slot, in units
 */
MW_INLINE bool mw_musl_plain(const void *p, size_t *usable)
{
	uint32_t word = ((const uint32_t *)p)[-1], behind = word >> 13 & 7;
	uintptr_t first = (uintptr_t)p - (uintptr_t)(word >> 16) * MW_MUSL_UNIT, end;
	const struct mw_musl_meta *m = *(const struct mw_musl_meta *const *)(first - MW_MUSL_UNIT);

	if (mw_unlikely(word & 0xff || behind > 5 || !m))
		return false;
	end = first + mw_musl_stride(m) * ((word >> 8 & 31) + 1) - sizeof(word);
	if (behind == 5)
		behind = ((const uint32_t *)end)[-1];
	*usable = end - behind - (uintptr_t)p;
	return true;
}

/* Is this a block of musl's? musl's older allocator has something else before one: nothing is followed that can't be read. */
bool mw_musl_is_block(const void *p);
