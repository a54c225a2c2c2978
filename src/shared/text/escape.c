/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * escape.c - bytes of any kind as TSV, CSV, JSON, HTML and dump text.
 *
 * A path can be any bytes. All forms but the dump text are valid UTF-8: every
 * maximal invalid sequence becomes one U+FFFD, and nothing is dropped. The dump
 * text keeps invalid bytes as they are.
 */
#include <string.h>

#include "buf.h"

#define REPLACEMENT "\xef\xbf\xbd"

/*
 * The length of the character at s, with n >= 1 bytes readable. If it isn't
 * valid, *ok is false and the length is that of the longest piece that could
 * have begun one, or 1.
 */
static size_t utf8_char(const unsigned char *s, size_t n, bool *ok)
{
	unsigned char least = 0x80, most = 0xbf;
	size_t rest;

	*ok = s[0] < 0x80;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 1;
	rest = s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
	if (s[0] == 0xe0)
		least = 0xa0; /* overlong below */
	else if (s[0] == 0xed)
		most = 0x9f; /* surrogates above */
	else if (s[0] == 0xf0)
		least = 0x90; /* overlong below */
	else if (s[0] == 0xf4)
		most = 0x8f; /* U+10FFFF is the last one */
	for (size_t i = 1; i <= rest; i++) {
		if (i >= n || s[i] < least || s[i] > most)
			return i;
		least = 0x80;
		most = 0xbf;
	}
	*ok = true;
	return rest + 1;
}

/* The replacement for the valid character of n bytes at s; NULL: the character itself. */
typedef const char *(*escape_fn)(const unsigned char *s, size_t n, char tmp[8]);

/* No form escapes these characters. They are most of a path, so worth a shortcut. */
static bool harmless(unsigned char c)
{
	unsigned char l = c | 0x20;

	return (l >= 'a' && l <= 'z') || (c >= '-' && c <= ':') || c == '_';
}

static void escape(struct mw_buf *b, const char *p, size_t n, bool keep_invalid, escape_fn fn)
{
	const unsigned char *s = (const unsigned char *)p, *end, *done = s;
	char tmp[8];

	if (!n)
		return; /* p may be NULL */
	end = s + n;
	while (s < end) {
		const char *instead = NULL;
		bool ok = true;
		size_t len = 1;

		if (!harmless(*s)) {
			len = utf8_char(s, (size_t)(end - s), &ok);
			if (ok)
				instead = fn(s, len, tmp);
			else if (!keep_invalid)
				instead = REPLACEMENT;
		}
		if (instead) {
			mw_buf_add(b, done, (size_t)(s - done));
			mw_buf_str(b, instead);
			done = s + len;
		}
		s += len;
	}
	mw_buf_add(b, done, (size_t)(end - done));
}

static const char *tsv_char(const unsigned char *s, size_t n, char tmp[8])
{
	(void)n;
	(void)tmp;
	switch (*s) {
	case '\t':
		return "\\t";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\\':
		return "\\\\";
	}
	return NULL;
}

static const char *csv_char(const unsigned char *s, size_t n, char tmp[8])
{
	(void)n;
	(void)tmp;
	return *s == '"' ? "\"\"" : NULL;
}

static const char *html_char(const unsigned char *s, size_t n, char tmp[8])
{
	(void)n;
	(void)tmp;
	switch (*s) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case 0: /* HTML has no NUL, not even as a reference */
		return REPLACEMENT;
	}
	return NULL;
}

static const char *plain_char(const unsigned char *s, size_t n, char tmp[8])
{
	(void)s;
	(void)n;
	(void)tmp;
	return NULL;
}

/* Escapes < > & and U+2028/9, too: JSON is then safe within HTML and a script. */
static const char *json_char(const unsigned char *s, size_t n, char tmp[8])
{
	static const char hex[] = "0123456789abcdef";

	switch (*s) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	}
	if (n == 3 && !memcmp(s, "\xe2\x80\xa8", 3))
		return "\\u2028";
	if (n == 3 && !memcmp(s, "\xe2\x80\xa9", 3))
		return "\\u2029";
	if (*s >= 0x20 && *s != '<' && *s != '>' && *s != '&' && *s != 0x7f)
		return NULL;
	memcpy(tmp, "\\u00", 4);
	tmp[4] = hex[*s >> 4];
	tmp[5] = hex[*s & 15];
	tmp[6] = 0;
	return tmp;
}

void mw_buf_text(struct mw_buf *b, const char *s, size_t n)
{
	escape(b, s, n, true, tsv_char);
}

void mw_buf_utf8(struct mw_buf *b, const char *s, size_t n)
{
	escape(b, s, n, false, plain_char);
}

void mw_buf_tsv(struct mw_buf *b, const char *s, size_t n)
{
	escape(b, s, n, false, tsv_char);
}

void mw_buf_html(struct mw_buf *b, const char *s, size_t n)
{
	escape(b, s, n, false, html_char);
}

void mw_buf_json(struct mw_buf *b, const char *s, size_t n)
{
	mw_buf_str(b, "\"");
	escape(b, s, n, false, json_char);
	mw_buf_str(b, "\"");
}

/* Quotes only if RFC 4180 asks for it, or a space at an end could get lost. */
void mw_buf_csv(struct mw_buf *b, const char *s, size_t n)
{
	bool quote = n && (s[0] == ' ' || s[n - 1] == ' ');

	for (size_t i = 0; i < n && !quote; i++)
		quote = s[i] == '"' || s[i] == ',' || s[i] == '\r' || s[i] == '\n';
	if (quote)
		mw_buf_str(b, "\"");
	escape(b, s, n, false, csv_char);
	if (quote)
		mw_buf_str(b, "\"");
}

size_t mw_utf16_units(const char *s, size_t n)
{
	struct mw_buf valid = { 0 };
	size_t units = 0, i = 0;

	while (i < n && (unsigned char)s[i] < 0x80)
		i++;
	if (i == n)
		return n;
	mw_buf_utf8(&valid, s, n);
	for (i = 0; i < valid.n; i++) {
		unsigned char c = (unsigned char)valid.p[i];

		units += (c & 0xc0) != 0x80;
		units += c >= 0xf0;
	}
	mw_buf_free(&valid);
	return units;
}
