/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tail.h - how a block leads to its record.
 *
 * The last 8 usable bytes of each block hold the index of its record and a
 * check of (address, index). The pointer that the app gets is the
 * allocator's own, so a block that is freed past us does no harm, and a
 * block that we never saw is recognised: its last bytes don't check, or
 * what they name is no record of this address.
 */
#ifndef MW_TRACK_TAIL_H
#define MW_TRACK_TAIL_H

#include <stdint.h>
#include <string.h>

#include "../table/record.h"

enum { MW_TAIL = 8, MW_LEAST = 16 }; /* 16: below, some allocators align to 8 */
#define MW_TAIL_NONE UINT32_MAX      /* not a tail; 0: a block that is not counted */
/* above it no allocator gives anything; below it size + tail can't wrap */
#define MW_ASK_MAX ((size_t)PTRDIFF_MAX - 8192)

/* What to ask for. */
static inline size_t mw_padded(size_t n)
{
	return n < MW_LEAST - MW_TAIL ? (size_t)MW_LEAST : n + MW_TAIL;
}

static inline uint64_t mw_tail_word(const void *p, uint32_t index)
{
	uint64_t mix = ((uint64_t)(uintptr_t)p >> 4 ^ (uint64_t)index << 40) * 0x9e3779b97f4a7c15u;

	return (mix & 0xffffffff00000000u) | index;
}

static inline void mw_tail_write(void *p, size_t usable, uint32_t index)
{
	uint64_t w = mw_tail_word(p, index);

	memcpy((char *)p + usable - MW_TAIL, &w, sizeof(w));
}

static inline uint32_t mw_tail_read(const void *p, size_t usable)
{
	uint64_t w;

	if (mw_unlikely(usable < MW_TAIL))
		return MW_TAIL_NONE;
	memcpy(&w, (const char *)p + usable - MW_TAIL, sizeof(w));
	return mw_likely(w == mw_tail_word(p, (uint32_t)w)) ? (uint32_t)w : MW_TAIL_NONE;
}

#endif
