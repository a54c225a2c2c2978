/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages.h - checks that hold for any page. */
#pragma once

#include "../../src/shared/report/report.h"
#include "fuzz.h"

static inline bool is(const char *type, const char *want)
{
	return !strncmp(type, want, strlen(want));
}

static inline size_t count(const struct mw_buf *b, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == c;
	return n;
}

/* Nesting, strings and what stands between: enough to see a broken escape. */
static inline void is_json(const struct mw_buf *b)
{
	char open[64];
	size_t depth = 0;

	for (size_t i = 0; i < b->n; i++) {
		unsigned char c = (unsigned char)b->p[i];

		if (c == '"') {
			while (++i < b->n && b->p[i] != '"') {
				must((unsigned char)b->p[i] >= ' ');
				i += b->p[i] == '\\';
			}
			must(i < b->n && depth);
		} else if (c == '{' || c == '[') {
			must(depth < sizeof(open));
			open[depth++] = c == '{' ? '}' : ']';
		} else if (c == '}' || c == ']') {
			must(depth && open[--depth] == c);
		} else {
			must(strchr(" \n\t,:-+.eE0123456789truefalsn", c) && c);
		}
	}
	must(!depth);
}

/* Every line has as many fields as the first. */
static inline void is_tsv(const struct mw_buf *b)
{
	size_t tabs = 0, first = 0, lines = 0, from = 0;

	if (b->n > 8 && !memcmp(b->p, "# mwrap=", 8)) { /* a line that says what the table is of */
		must(memchr(b->p, '\n', b->n));
		from = (size_t)((const char *)memchr(b->p, '\n', b->n) - b->p) + 1;
		must(!memchr(b->p, '\t', from));
	}
	for (size_t i = from; i < b->n; i++) {
		must(b->p[i] != '\r');
		tabs += b->p[i] == '\t';
		if (b->p[i] == '\n') {
			first = lines++ ? first : tabs;
			must(tabs == first);
			tabs = 0;
		}
	}
	must(lines && b->p[b->n - 1] == '\n');
}

/* Every script is the one of the head. */
static inline bool strange_script(const struct mw_buf *b)
{
	static const char ours[] = "<script type=\"module\" src=\"";
	const char *p = b->p, *end = b->p + b->n;

	while ((p = memmem(p, (size_t)(end - p), "<script", 7))) {
		if ((size_t)(end - p) < sizeof(ours) - 1 || memcmp(p, ours, sizeof(ours) - 1))
			return true;
		p++;
	}
	return false;
}
