/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h - what the text of a value means, whichever option it is for.
 *
 * For keys.c and options.c alone. Text in, a value out: nothing here knows of
 * options or says anything, allocates, or looks at the locale.
 */
#ifndef MW_OPTIONS_VALUES_H
#define MW_OPTIONS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits only, up to max. False on anything else: then *out is as it was. */
bool mw_value_number(const char *, uint64_t max, uint64_t *out);

/*
 * Bytes, 1 to INT64_MAX: digits, then k, m or g in either case (1024, ...), or
 * nothing. False on anything else: then *out is as it was.
 */
bool mw_value_bytes(const char *, uint64_t *out);

/* Bytes without a NUL that mw_options_expand() writes for the longest PID. */
size_t mw_value_longest(const char *);

/*
 * Takes "127.0.0.1:PORT", "localhost:PORT" or "[::1]:PORT" apart: host (size
 * bytes, 10 at least) becomes a numeric address without brackets, *far says whether
 * other machines may reach it. Returns NULL, or what is wrong; then *port and *far
 * are as they were.
 */
const char *mw_value_address(const char *, char *host, size_t size, uint16_t *port, bool *far);

/*
 * The mode of a file in octal, three digits or four with a 0 in front, which
 * lets the owner read and write whatever it says, and nobody execute. False on anything else:
 * then *out is as it was.
 */
bool mw_value_mode(const char *, unsigned *out);

#endif
