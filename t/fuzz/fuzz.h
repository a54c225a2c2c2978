/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - shared by the fuzz targets: each is a libFuzzer program whose
 * input is text that a person can write (corpus/NAME/), and which traps when
 * something doesn't hold that must hold for any input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(cond)                                                                            \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                              \
		}                                                                             \
	} while (0)

/* A copy that ends where it ends, so that reading on is found. Never NULL. */
static inline char *copy_of(const void *p, size_t n)
{
	char *c = malloc(n + 1);

	must(c != NULL);
	memcpy(c, p, n);
	c[n] = '\0';
	return c;
}

/* Takes the next line off *p: its length, without the newline. */
static inline size_t line_of(const char **p, size_t *n, const char **line)
{
	const char *end = *n ? memchr(*p, '\n', *n) : NULL;
	size_t len = end ? (size_t)(end - *p) : *n;

	*line = *p;
	*p += end ? len + 1 : len;
	*n -= end ? len + 1 : len;
	return len;
}

/* The shortest forms only, no surrogates, nothing above U+10FFFF. */
static inline bool is_utf8(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		unsigned more = s[i] < 0x80 ? 0 :
				s[i] < 0xc2 ? 9 :
				s[i] < 0xe0 ? 1 :
				s[i] < 0xf0 ? 2 :
				s[i] < 0xf5 ? 3 :
					      9;
		uint32_t c = more ? s[i] & (0x3fu >> more) : s[i];

		if (more > 3 || n - i <= more)
			return false;
		for (unsigned k = 1; k <= more; k++) {
			if ((s[i + k] & 0xc0) != 0x80)
				return false;
			c = c << 6 | (s[i + k] & 0x3f);
		}
		if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000) || c > 0x10ffff ||
		    (c >= 0xd800 && c < 0xe000))
			return false;
		i += more + 1;
	}
	return true;
}
