/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * translated.c - the C library's texts of errors, as in another language: "NUMBER: translated".
 *
 * Whoever asks takes the lock on the locale, as the C library does; no thread of the tracker's may.
 */
#include <stdio.h>
#include <string.h>

static __thread char text[64];

char *strerror(int error)
{
	snprintf(text, sizeof(text), "%d: translated", error);
	return text;
}

char *strerror_r(int error, char *unused, size_t n)
{
	(void)unused;
	(void)n;
	return strerror(error);
}
