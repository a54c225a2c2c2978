/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.c - numbers, sizes, and texts with a PID: see values.h, options.h.
 */
#include "values.h"

#include <limits.h>
#include <string.h>

#include "options.h"

#define LONGEST_PID 4194304L /* the kernel's PID_MAX_LIMIT */

bool mw_value_number(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	if (v > max)
		return false;
	*out = v;
	return true;
}

bool mw_value_bytes(const char *s, uint64_t *out)
{
	static const char units[] = "kmg";
	size_t n = strlen(s);
	const char *unit = n ? strchr(units, s[n - 1] | 0x20) : NULL;
	unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;
	char digits[24] = "";
	uint64_t v;

	n -= unit != NULL;
	if (n < sizeof(digits))
		memcpy(digits, s, n);
	if (!mw_value_number(digits, INT64_MAX >> shift, &v) || !v)
		return false;
	*out = v << shift;
	return true;
}

bool mw_value_mode(const char *s, unsigned *out)
{
	unsigned v = 0;
	size_t n = strlen(s);

	if ((n != 3 && n != 4) || (n == 4 && s[0] != '0'))
		return false;
	for (; *s; s++) {
		if (*s != '0' && *s != '2' && *s != '4' && *s != '6')
			return false;
		v = v << 3 | (unsigned)(*s - '0');
	}
	*out = v | 0600;
	return true;
}

static size_t digits_of(long v, char out[24])
{
	char tmp[24];
	size_t n = 0, i;
	unsigned long u = v < 0 ? 0 : (unsigned long)v;

	do
		tmp[n++] = (char)('0' + u % 10);
	while (u /= 10);
	for (i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

/* Writes at most size bytes (0: out may be NULL), without a NUL. Returns the whole length. */
static size_t expanded(const char *value, long pid, char *out, size_t size)
{
	char digits[24];
	size_t n = 0, len = digits_of(pid, digits);

	for (; *value; value++) {
		const char *from = value;
		size_t add = 1;

		if (value[0] == '%' && value[1] == 'p') {
			from = digits;
			add = len;
			value++;
		} else if (value[0] == '%' && value[1] == '%') {
			value++;
		}
		for (size_t i = 0; i < add; i++, n++) {
			if (n < size)
				out[n] = from[i];
		}
	}
	return n;
}

size_t mw_value_longest(const char *value)
{
	return expanded(value, LONGEST_PID, NULL, 0);
}

int mw_options_expand(const char *value, long pid, char *out, size_t size)
{
	size_t n;

	if (!size)
		return -1;
	out[0] = 0;
	if (!value)
		return -1;
	n = expanded(value, pid, out, size);
	if (n >= size || n > INT_MAX) {
		out[0] = 0;
		return -1;
	}
	out[n] = 0;
	return (int)n;
}
