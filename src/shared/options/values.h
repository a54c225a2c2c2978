/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h - turns the text of a value into the value, for any option.
 *
 * For keys.c and options.c only. Nothing here knows of options, prints,
 * allocates, or uses the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits only, up to max. False on anything else: then *out is unchanged. */
bool mw_value_number(const char *, uint64_t max, uint64_t *out);

/*
 * Bytes, 1 to INT64_MAX: digits, then k, m or g in either case (1024, ...), or
 * nothing. False on anything else: then *out is unchanged.
 */
bool mw_value_bytes(const char *, uint64_t *out);

/* The bytes, without a NUL, that mw_options_expand() writes for the longest PID. */
size_t mw_value_longest(const char *);

/*
 * Splits "ADDRESS:PORT", with a numeric address, an IPv6 one in brackets, or "localhost". host (size bytes, 10
 * at least) becomes a numeric address without brackets. *far: other machines may
 * reach it. Returns NULL, or the problem in words: then *port and *far are
 * unchanged.
 */
const char *mw_value_address(const char *, char *host, size_t size, uint16_t *port, bool *far);

/*
 * The mode of a file: three octal digits of 0, 2, 4 and 6, or four with a 0 in front. The
 * owner's bits for reading and writing are always set in *out. False on anything else: then
 * *out is unchanged.
 */
bool mw_value_mode(const char *, unsigned *out);
