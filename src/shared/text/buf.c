/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buf.c - a growing byte buffer.
 *
 * After a failed allocation `failed` stays set and every call does nothing:
 * callers check once, at the end. The content is then cut short and must not
 * be shown.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

/* Room for n more bytes behind b->n; NULL, and `failed`: no memory. */
static char *reserve_bytes(struct mw_buf *b, size_t n)
{
	size_t cap, need;
	char *p;

	if (b->failed)
		return NULL;
	if (n <= b->cap - b->n)
		return b->p + b->n;
	cap = b->cap ? b->cap : 1024;
	if (__builtin_add_overflow(b->n, n, &need) || need > SIZE_MAX / 2)
		goto fail;
	while (cap < need)
		cap *= 2;
	p = realloc(b->p, cap);
	if (!p)
		goto fail;
	b->p = p;
	b->cap = cap;
	return p + b->n;
fail:
	b->failed = true;
	return NULL;
}

void mw_buf_add(struct mw_buf *b, const void *s, size_t n)
{
	char *to = n ? reserve_bytes(b, n) : NULL;

	if (to) {
		memcpy(to, s, n);
		b->n += n;
	}
}

void mw_buf_str(struct mw_buf *b, const char *s)
{
	mw_buf_add(b, s, strlen(s));
}

void mw_buf_fmt(struct mw_buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	to = reserve_bytes(b, (size_t)n + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

/* The digits of v, ending at `end`; returns where they start. */
static char *digits(char *end, uint64_t v, bool commas)
{
	unsigned n = 0;

	do {
		if (commas && n && n % 3 == 0)
			*--end = ',';
		*--end = (char)('0' + v % 10);
		n++;
	} while (v /= 10);
	return end;
}

void mw_buf_u64(struct mw_buf *b, uint64_t v)
{
	char tmp[20], *s = digits(tmp + sizeof(tmp), v, false);

	mw_buf_add(b, s, (size_t)(tmp + sizeof(tmp) - s));
}

void mw_buf_known(struct mw_buf *b, uint64_t v, bool known)
{
	if (known)
		mw_buf_u64(b, v);
	else
		mw_buf_str(b, "null");
}

void mw_buf_commas(struct mw_buf *b, uint64_t v)
{
	char tmp[26], *s = digits(tmp + sizeof(tmp), v, true);

	mw_buf_add(b, s, (size_t)(tmp + sizeof(tmp) - s));
}

/* |i|; appends the minus to b. Unsigned, since -INT64_MIN would overflow. */
static uint64_t magnitude(struct mw_buf *b, int64_t i)
{
	if (i >= 0)
		return (uint64_t)i;
	mw_buf_str(b, "-");
	return 0 - (uint64_t)i;
}

void mw_buf_i64(struct mw_buf *b, int64_t v)
{
	mw_buf_u64(b, magnitude(b, v));
}

void mw_buf_signed_commas(struct mw_buf *b, int64_t v)
{
	mw_buf_commas(b, magnitude(b, v));
}

/* From integers: printf's decimals would follow the app's locale. */
void mw_buf_decimals(struct mw_buf *b, double v, unsigned n)
{
	static const unsigned units[] = { 1, 10, 100, 1000, 10000, 100000 };
	unsigned unit = units[n];
	uint64_t parts = v > 0 && v < 1e15 ? (uint64_t)(v * unit + 0.5) : 0;

	mw_buf_fmt(b, "%" PRIu64 ".%0*u", parts / unit, (int)n, (unsigned)(parts % unit));
}

void mw_buf_seconds(struct mw_buf *b, double v)
{
	mw_buf_decimals(b, v, 3);
}

void mw_buf_pad_u64(struct mw_buf *b, uint64_t v, unsigned width)
{
	char tmp[32], *s = digits(tmp + sizeof(tmp), v, false);

	while (tmp + sizeof(tmp) - s < (ptrdiff_t)width && s > tmp)
		*--s = ' ';
	mw_buf_add(b, s, (size_t)(tmp + sizeof(tmp) - s));
}

void mw_buf_free(struct mw_buf *b)
{
	free(b->p);
	*b = (struct mw_buf){ 0 };
}

__extension__ typedef unsigned __int128 u128;

/* v / unit, in parts of one: 10 for tenths */
static uint64_t rounded_parts(uint64_t v, uint64_t unit, unsigned part)
{
	return (uint64_t)(((u128)v * part + unit / 2) / unit);
}

const char *mw_buf_amount(struct mw_buf *b, uint64_t v, bool whole)
{
	static const char *const names[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	uint64_t unit = 1, n;
	unsigned u = 0;

	for (; u < 5 && (u128)v * 2 >= (u128)unit * 1999; u++)
		unit *= 1024;
	if (!u || (whole && v % unit == 0))
		mw_buf_u64(b, v / unit);
	else if ((n = rounded_parts(v, unit, 100)) < 1000)
		mw_buf_fmt(b, "%" PRIu64 ".%02" PRIu64, n / 100, n % 100);
	else if ((n = rounded_parts(v, unit, 10)) < 1000)
		mw_buf_fmt(b, "%" PRIu64 ".%" PRIu64, n / 10, n % 10);
	else
		mw_buf_u64(b, rounded_parts(v, unit, 1));
	return names[u];
}

size_t mw_utf8_begin(const char *s, size_t i)
{
	while (i && ((unsigned char)s[i] & 0xc0) == 0x80)
		i--;
	return i;
}
