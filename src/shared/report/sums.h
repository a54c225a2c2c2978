/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums.h - sums that stop at the largest value of their type instead of wrapping. */
#pragma once

#include <stdint.h>

static inline uint64_t mw_sum_u64(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static inline int64_t mw_sum_i64(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline int64_t mw_i64_of(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* a - b, clamped to the type's range */
static inline int64_t mw_difference(uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a;

	if (d > INT64_MAX)
		return a > b ? INT64_MAX : INT64_MIN;
	return a > b ? (int64_t)d : -(int64_t)d;
}
