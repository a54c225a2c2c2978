/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read_json.h"

enum { DEEPEST = 32 };

static const char *after_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Each of these: p is behind white space. Returns what is behind the value, or NULL. */
static const char *after_value(const char *p, unsigned depth);

static const char *after_string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (*p == 'u' && strspn(p + 1, "0123456789abcdefABCDEF") >= 4)
			p += 4;
		else if (!*p || !strchr("\"\\/bfnrt", *p))
			return NULL;
	}
	return p + 1;
}

static const char *after_digits(const char *p)
{
	size_t n = strspn(p, "0123456789");

	return n ? p + n : NULL;
}

static const char *after_number(const char *p)
{
	p += *p == '-';
	p = *p == '0' ? p + 1 : after_digits(p);
	if (p && *p == '.')
		p = after_digits(p + 1);
	if (p && (*p == 'e' || *p == 'E'))
		p = after_digits(p + 1 + (p[1] == '+' || p[1] == '-'));
	return p;
}

/*
 * Behind a list between two signs; that of an object has keys. With a key to look for, the first value of
 * that key is put into *found, and *found_end.
 */
static const char *after_list(const char *p, bool keys, unsigned depth, const char *key,
			      const char **found, const char **found_end)
{
	size_t len = key ? strlen(key) : 0;
	char last = keys ? '}' : ']';

	p = after_space(p + 1);
	if (*p == last)
		return p + 1;
	for (;;) {
		const char *name = p, *value;

		if (keys) {
			p = after_string(p);
			if (!p)
				return NULL;
			p = after_space(p);
			if (*p != ':')
				return NULL;
			p = after_space(p + 1);
		}
		value = p;
		p = after_value(p, depth + 1);
		if (!p)
			return NULL;
		if (key && !*found && !strncmp(name + 1, key, len) && name[1 + len] == '"') {
			*found = value;
			*found_end = p;
		}
		p = after_space(p);
		if (*p == last)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = after_space(p + 1);
	}
}

static const char *after_value(const char *p, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };

	if (depth > DEEPEST)
		return NULL;
	if (*p == '{' || *p == '[')
		return after_list(p, *p == '{', depth, NULL, NULL, NULL);
	if (*p == '"')
		return after_string(p);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	return after_number(p);
}

bool mw_json_object(const char *text)
{
	const char *p = after_space(text);

	if (*p != '{')
		return false;
	p = after_value(p, 0);
	return p && !*after_space(p);
}

const char *mw_json_get(const char *text, const char *key, size_t *n)
{
	const char *p = after_space(text), *found = NULL, *end = NULL;

	if (*p != '{' || !after_list(p, true, 0, key, &found, &end) || !found)
		return NULL;
	*n = (size_t)(end - found);
	return found;
}

bool mw_json_get_u64(const char *text, const char *key, uint64_t *v)
{
	size_t n;
	const char *p = mw_json_get(text, key, &n);
	char *end;

	if (!p || *p < '0' || *p > '9')
		return false;
	errno = 0;
	*v = strtoull(p, &end, 10);
	return !errno && end == p + n;
}
