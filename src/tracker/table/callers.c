/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "callers.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Is s[at], which is the first "<" of a row of them, where one could separate two callers? */
static bool could_separate(const char *s, size_t n, size_t at)
{
	size_t end = at;

	while (end < n && s[end] == '<')
		end++;
	return end < n && s[end] == ' ' && (!at || (at >= 2 && s[at - 1] == ' ' && is_digit(s[at - 2])));
}

static bool put_piece(struct mw_callers *c, const char *s, size_t n)
{
	if (n > sizeof(c->text) - c->n)
		return false;
	memcpy(c->text + c->n, s, n);
	c->n += n;
	return true;
}

static bool put_path(struct mw_callers *c, const char *path, size_t n)
{
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		if (path[i] != '<' || (i && path[i - 1] == '<') || !could_separate(path, n, i))
			continue;
		if (!put_piece(c, path + done, i - done) || !put_piece(c, "<", 1))
			return false;
		done = i;
	}
	return put_piece(c, path + done, n - done);
}

static bool put_line(struct mw_callers *c, uint64_t line)
{
	char digits[21], *d = digits + sizeof(digits);

	do
		*--d = (char)('0' + line % 10);
	while (line /= 10);
	*--d = ':';
	return put_piece(c, d, (size_t)(digits + sizeof(digits) - d));
}

bool mw_callers_add(struct mw_callers *c, const char *path, size_t n, uint64_t line)
{
	size_t before = c->n;

	if ((!before || put_piece(c, MW_CALLERS_BETWEEN, strlen(MW_CALLERS_BETWEEN))) &&
	    put_path(c, path, n) && put_line(c, line))
		return true;
	c->n = before;
	return false;
}

/* The first " < " behind a digit, or NULL. */
static const char *find_between(const char *s, size_t n)
{
	const char *at = s, *end = s + n;

	while ((at = memmem(at, (size_t)(end - at), MW_CALLERS_BETWEEN, strlen(MW_CALLERS_BETWEEN)))) {
		if (at > s && is_digit(at[-1]))
			return at;
		at++;
	}
	return NULL;
}

bool mw_callers_need_mark(const char *path, size_t n)
{
	return find_between(path, n) != NULL;
}

size_t mw_callers_split(const char *location, size_t len, const char **callers, size_t *n)
{
	const char *at = find_between(location, len);

	*callers = at ? at + strlen(MW_CALLERS_BETWEEN) : "";
	*n = at ? len - (size_t)(*callers - location) : 0;
	if (!at)
		return len;
	return *n ? (size_t)(at - location) : 0;
}
