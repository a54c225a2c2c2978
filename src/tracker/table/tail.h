/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tail.h - how a block leads to its record.
 *
 * The last 8 usable bytes of each block hold the ref of its record, and half of the block's
 * address. The latter tells an overwritten tail from a whole one. Each half is written and read
 * by itself. The app gets the allocator's own pointer: a block that is freed past the tracker
 * does no harm. Nor does a block that the tracker never saw: the record of any ref in its last
 * bytes has another address, or is free.
 *
 * Other allocators than the C library's have size classes, in which a power of two and 8 bytes
 * more take a fifth more room. A block of MW_BESIDE bytes or more gets no tail there if it fills its class and isn't
 * asked for aligned: the side index leads to its record. Its overruns go unnoticed.
 *
 * A tail is right if both halves are: the record has the block's address, and the check agrees
 * with it. overrun.h deals with tails that aren't.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "side_index.h"
#include "record.h"
#include "tracker/real/real.h"

enum { MW_TAIL = 8, MW_LEAST = 16 }; /* bytes; smaller blocks are aligned to 8 by some allocators */
/* above it no allocator gives anything; below it size + tail can't wrap */
#define MW_SIZE_PADDED_MAX ((size_t)PTRDIFF_MAX - 8192)

/*
 * The ref of a block that is not counted: allocated in quiet mode, or without a record for want
 * of memory. No record ever has it. An app is unlikely to write it past a block's end, unlike 0
 * or -1.
 */
#define MW_TAIL_NONE 0xffff5f6du

/* The size to ask the allocator for, with a tail. */
MW_INLINE size_t mw_with_tail(size_t n)
{
	return n < MW_LEAST - MW_TAIL ? (size_t)MW_LEAST : n + MW_TAIL;
}

/* The size to ask the allocator for if no alignment is wanted. */
MW_INLINE size_t mw_padded(size_t n)
{
	if (mw_unlikely(mw_real_classes) && mw_goes_beside(n))
		return n;
	return mw_with_tail(n);
}

/* The room of the new block p, which was asked for with mw_padded(n) or with a tail's bytes. */
MW_INLINE size_t mw_usable_new(const void *p, size_t n)
{
	size_t usable = mw_usable(p);

	/* it may be MW_ROOM_UNKNOWN; a block without a tail has no more room than n */
	if (mw_likely(usable >= n + MW_TAIL || (usable == n && n >= MW_BESIDE)))
		return usable;
	return mw_padded(n);
}

/* *usable: the room of malloc(mw_padded(n)), where classes are known. False: it isn't, or has no tail. */
MW_INLINE bool mw_class_usable(size_t n, size_t *usable)
{
	/* less than MW_BESIDE first: no more to ask */
	if (mw_unlikely(n >= MW_BESIDE) && (n > MW_CLASS_MAX - MW_TAIL || mw_goes_beside(n)))
		return false;
	*usable = mw_class_room[(n + MW_TAIL + MW_CLASS_STEP - 1) / MW_CLASS_STEP];
	return true;
}

/* The same on musl's allocator: a block has just the room that was asked for (musl.h). */
MW_INLINE bool mw_musl_usable(size_t n, size_t *usable)
{
	*usable = mw_with_tail(n);
	return true;
}

MW_INLINE void mw_tail_write(void *p, size_t usable, uint32_t ref)
{
	uint32_t half = (uint32_t)(uintptr_t)p;

	mw_assert(usable >= MW_TAIL && ref && (ref == MW_TAIL_NONE || (ref < MW_REF_END && ref % 16 == 0)));
	memcpy((char *)p + usable - MW_TAIL, &ref, sizeof(ref));
	__asm__("" : : : "memory"); /* two stores: putting both halves into one costs more */
	memcpy((char *)p + usable - sizeof(half), &half, sizeof(half));
}

/*
 * p has a tail, and more room than the class of n: it was aligned, or it shrank. An old tail might
 * lie where that class has one.
 */
MW_INLINE void mw_tail_clear(void *p, size_t n, size_t usable)
{
	size_t room = mw_class_of(n);

	if (mw_unlikely(room && room != usable && room < usable))
		memset((char *)p + room - MW_TAIL, 0, MW_TAIL);
}

/*
 * Makes p lead to its record, by its tail if there is room, else by the side index. n: as asked
 * for. False: no memory, and nothing leads there.
 */
MW_INLINE bool mw_lead(void *p, size_t n, size_t usable, uint32_t ref)
{
	mw_assert(usable - n >= MW_TAIL || n >= MW_BESIDE); /* else two of them had one word of the index */
	if (mw_unlikely(usable - n < MW_TAIL))
		return mw_side_index_put(p, usable, ref);
	if (mw_real_classes)
		mw_tail_clear(p, n, usable);
	mw_tail_write(p, usable, ref);
	return true;
}

/* The ref of a tail at p + at; garbage if none is there. */
MW_INLINE uint32_t mw_tail_read_at(const void *p, size_t at)
{
	uint32_t ref;

	memcpy(&ref, (const char *)p + at, sizeof(ref));
	return ref;
}
/* Is the check that of p? False: overwritten, or there is no tail. */
MW_INLINE bool mw_tail_checks_at(const void *p, size_t at)
{
	uint32_t half;

	memcpy(&half, (const char *)p + at + sizeof(half), sizeof(half));
	return half == (uint32_t)(uintptr_t)p;
}

/* The same by p's room. */
MW_INLINE uint32_t mw_tail_read(const void *p, size_t usable)
{
	return mw_tail_read_at(p, usable - MW_TAIL);
}
MW_INLINE bool mw_tail_checks(const void *p, size_t usable)
{
	return mw_tail_checks_at(p, usable - MW_TAIL);
}
