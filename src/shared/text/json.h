/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - JSON at the end of a buffer. A comma comes where one is needed: by what is there already.
 *
 * A member is written by its name; NULL: an element of an array. A name that begins with a newline begins a line,
 * and "\n" is an element that does. Text written by hand behind mw_json_key() must be one whole value.
 */
#pragma once

#include "buf.h"

void mw_json_key(struct mw_buf *, const char *name);
void mw_json_open(struct mw_buf *, const char *name, char bracket); /* { or [: mw_buf_str() closes it */
void mw_json_u64(struct mw_buf *, const char *name, uint64_t);
void mw_json_known(struct mw_buf *, const char *name, uint64_t, bool known); /* or null */
void mw_json_i64(struct mw_buf *, const char *name, int64_t);
void mw_json_bool(struct mw_buf *, const char *name, bool);
void mw_json_seconds(struct mw_buf *, const char *name, double);
void mw_json_tenths(struct mw_buf *, const char *name, double);
void mw_json_address(struct mw_buf *, const char *name, uintptr_t); /* "0x7f" */
/* A text of n bytes, as mw_buf_json; NULL: null. */
void mw_json_text(struct mw_buf *, const char *name, const char *, size_t n);
void mw_json_str(struct mw_buf *, const char *name, const char *);
/* Appends the contents of `text`, and frees it. */
void mw_json_take(struct mw_buf *, const char *name, struct mw_buf *text);
