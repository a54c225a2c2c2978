/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "json.h"

void mw_json_key(struct mw_buf *b, const char *name)
{
	if (b->n && !b->failed && !strchr("{[:,\n", b->p[b->n - 1]))
		mw_buf_str(b, ",");
	if (!name)
		return;
	if (*name == '\n')
		mw_buf_add(b, name++, 1);
	if (!*name)
		return;
	mw_buf_str(b, "\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":");
}

void mw_json_open(struct mw_buf *b, const char *name, char bracket)
{
	mw_json_key(b, name);
	mw_buf_add(b, &bracket, 1);
}

void mw_json_u64(struct mw_buf *b, const char *name, uint64_t v)
{
	mw_json_key(b, name);
	mw_buf_u64(b, v);
}

void mw_json_known(struct mw_buf *b, const char *name, uint64_t v, bool known)
{
	mw_json_key(b, name);
	mw_buf_known(b, v, known);
}

void mw_json_i64(struct mw_buf *b, const char *name, int64_t v)
{
	mw_json_key(b, name);
	mw_buf_i64(b, v);
}

void mw_json_bool(struct mw_buf *b, const char *name, bool v)
{
	mw_json_key(b, name);
	mw_buf_str(b, v ? "true" : "false");
}

void mw_json_seconds(struct mw_buf *b, const char *name, double v)
{
	mw_json_key(b, name);
	mw_buf_seconds(b, v);
}

void mw_json_tenths(struct mw_buf *b, const char *name, double v)
{
	mw_json_key(b, name);
	mw_buf_decimals(b, v, 1);
}

void mw_json_address(struct mw_buf *b, const char *name, uintptr_t v)
{
	mw_json_key(b, name);
	mw_buf_fmt(b, "\"0x%" PRIxPTR "\"", v);
}

void mw_json_text(struct mw_buf *b, const char *name, const char *s, size_t n)
{
	mw_json_key(b, name);
	if (s)
		mw_buf_json(b, s, n);
	else
		mw_buf_str(b, "null");
}

void mw_json_str(struct mw_buf *b, const char *name, const char *s)
{
	mw_json_text(b, name, s, s ? strlen(s) : 0);
}

void mw_json_take(struct mw_buf *b, const char *name, struct mw_buf *text)
{
	mw_json_text(b, name, text->n ? text->p : "", text->n);
	b->failed |= text->failed;
	mw_buf_free(text);
}
