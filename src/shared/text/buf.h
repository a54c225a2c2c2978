/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buf.h - growing text, and escapes. Nothing here depends on the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A growing byte buffer; starts all zero. `failed` stays set after a failed
 * allocation: check it before using p[n], which is not NUL-terminated.
 */
struct mw_buf {
	char *p;
	size_t n, cap;
	bool failed;
};
void mw_buf_add(struct mw_buf *, const void *, size_t);
void mw_buf_str(struct mw_buf *, const char *);
void mw_buf_fmt(struct mw_buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mw_buf_u64(struct mw_buf *, uint64_t);    /* 1234567 */
void mw_buf_known(struct mw_buf *, uint64_t, bool known); /* 1234567, or null */
void mw_buf_commas(struct mw_buf *, uint64_t); /* 1,234,567 */
void mw_buf_i64(struct mw_buf *, int64_t);          /* -1234567 */
void mw_buf_signed_commas(struct mw_buf *, int64_t); /* -1,234,567 */
void mw_buf_pad_u64(struct mw_buf *, uint64_t, unsigned width); /* right-aligned, width <= 32 */
/*
 * The number of v bytes in a unit that gives it three digits at most: "9.87". Returns the unit: "MB".
 * 1 KB is 1,024 bytes. whole: without zeros behind the point. As web/src/format.js has it.
 */
const char *mw_buf_amount(struct mw_buf *, uint64_t v, bool whole);
/* With 1 to 5 decimals: 4711.2. 0.0 if it is below 0, NaN or from 1e15 on */
void mw_buf_decimals(struct mw_buf *, double, unsigned decimals);
void mw_buf_seconds(struct mw_buf *, double); /* with three: 4711.250 */
void mw_buf_free(struct mw_buf *); /* all zero again */

/*
 * Escapes: tab, newline, CR and backslash are \t \n \r \\ in text and TSV.
 * Invalid UTF-8 becomes U+FFFD in all but text, which keeps it.
 */
void mw_buf_text(struct mw_buf *, const char *, size_t);
void mw_buf_utf8(struct mw_buf *, const char *, size_t); /* made valid, nothing escaped */
void mw_buf_tsv(struct mw_buf *, const char *, size_t);
void mw_buf_csv(struct mw_buf *, const char *, size_t); /* with quotes if needed */
void mw_buf_json(struct mw_buf *, const char *, size_t); /* with the quotes */
/* The length of a text as a JavaScript string, invalid bytes as U+FFFD. */
size_t mw_utf16_units(const char *, size_t);
void mw_buf_html(struct mw_buf *, const char *, size_t); /* for text and quoted attributes */

/* The start of the character of UTF-8 that s[i] is in: text up to there has whole characters. */
size_t mw_utf8_begin(const char *s, size_t i);
