/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_read.h - reads numbers from bytes that may be malformed.
 *
 * A read beyond the end gives 0 and sets `bad`; nothing is read there then, nor later. Callers may
 * go on with the zeros, and look at `bad` at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mw_cfi_reader {
	uintptr_t at, end;
	bool bad;
};

/* How pointers are written (DW_EH_PE). */
enum { MW_PE_ABSPTR = 0x00, MW_PE_PCREL = 0x10, MW_PE_FORM = 0x0f, MW_PE_BASE = 0x70 };
enum { MW_PE_INDIRECT = 0x80, MW_PE_ALIGNED = 0x50, MW_PE_OMIT = 0xff };

static inline uint64_t mw_cfi_left(const struct mw_cfi_reader *r)
{
	return r->bad ? 0 : r->end - r->at;
}

static inline void mw_cfi_skip(struct mw_cfi_reader *r, uint64_t bytes)
{
	if (bytes > mw_cfi_left(r))
		r->bad = true;
	else
		r->at += bytes;
}

/* The next bytes, 8 at most, as a number without a sign. Both processors are little-endian. */
static inline uint64_t mw_cfi_number(struct mw_cfi_reader *r, size_t bytes)
{
	const void *from = (const void *)r->at;
	uint64_t n = 0;

	mw_cfi_skip(r, bytes);
	if (!r->bad)
		memcpy(&n, from, bytes);
	return n;
}

static inline uint8_t mw_cfi_byte(struct mw_cfi_reader *r)
{
	return (uint8_t)mw_cfi_number(r, 1);
}

/* A number of 7 bits a byte. One of more than 64 bits is bad. */
static inline uint64_t mw_cfi_leb(struct mw_cfi_reader *r, bool has_sign)
{
	uint64_t n = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = mw_cfi_byte(r);
		if (shift > 63) {
			r->bad = true;
			return 0;
		}
		n |= (uint64_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128);
	if (has_sign && b & 64 && shift < 64)
		n |= UINT64_MAX << shift;
	return n;
}

static inline uint64_t mw_cfi_uleb(struct mw_cfi_reader *r)
{
	return mw_cfi_leb(r, false);
}

static inline int64_t mw_cfi_sleb(struct mw_cfi_reader *r)
{
	return (int64_t)mw_cfi_leb(r, true);
}

/* A pointer's bytes, without the base that they are relative to. */
static inline uint64_t mw_cfi_value(struct mw_cfi_reader *r, uint8_t form)
{
	switch (form & MW_PE_FORM) {
	case 0x0: /* absptr */
	case 0x4: /* udata8 */
	case 0xc: /* sdata8 */
		return mw_cfi_number(r, 8);
	case 0x1:
		return mw_cfi_uleb(r);
	case 0x2:
		return mw_cfi_number(r, 2);
	case 0x3:
		return mw_cfi_number(r, 4);
	case 0x9:
		return (uint64_t)mw_cfi_sleb(r);
	case 0xa:
		return (uint64_t)(int16_t)mw_cfi_number(r, 2);
	case 0xb:
		return (uint64_t)(int32_t)mw_cfi_number(r, 4);
	}
	r->bad = true;
	return 0;
}

/* A pointer. Only those that are absolute, or relative to themselves, are understood. */
static inline uintptr_t mw_cfi_pointer(struct mw_cfi_reader *r, uint8_t encoding)
{
	uintptr_t here = r->at;
	uint64_t value = mw_cfi_value(r, encoding);

	switch (encoding & ~MW_PE_FORM) {
	case MW_PE_ABSPTR:
		return value;
	case MW_PE_PCREL:
		return value + here;
	}
	r->bad = true;
	return 0;
}
