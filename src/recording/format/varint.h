/* SPDX-License-Identifier: GPL-2.0-or-later */
/* varint.h - numbers of 7 bits a byte, the lowest first; a byte's highest bit: more follow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns what is behind it; at most 10 bytes. */
static inline uint8_t *mw_varint_put(uint8_t *p, uint64_t v)
{
	while (v > 0x7f) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* False: there is no whole one, or it doesn't fit; *at stays. */
static inline bool mw_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
	const uint8_t *p = *at;
	uint64_t all = 0;

	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		uint64_t part = *p & 0x7f;

		if (shift == 63 && part > 1)
			return false;
		all |= part << shift;
		if (*p++ < 0x80) {
			*at = p;
			*v = all;
			return true;
		}
	}
	return false;
}
