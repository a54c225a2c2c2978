/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assets.h - the files of web/, compiled in by embed.rb: static, read-only, safe
 * in every thread.
 */
#pragma once

#include <stddef.h>

#include "message.h"

struct mw_web_file {
	const char *name;          /* below web/: "mwrap.css", "dist/mwrap.js" */
	const char *type;          /* value of Content-Type; NULL: a template, not served */
	const unsigned char *data; /* followed by a NUL that size doesn't count */
	size_t size;
	const unsigned char *gzip; /* the same data compressed; NULL: not smaller */
	size_t gzip_size;
	const char *version;       /* of its content, for URLs: hexadecimal digits; NULL: a template */
	struct mw_header etag;     /* {"ETag", "\"VERSION\""} */
};

extern const struct mw_web_file mw_web_files[];
extern const size_t mw_web_files_n;

/* The asset of that name ("mwrap.css"); NULL: no such file, or a template. */
const struct mw_web_file *mw_asset(const char *name);
/* Does the client accept gzip? It is in Accept-Encoding, and not with "q=0". */
bool mw_takes_gzip(const struct mw_request *);
/* Answers a request for it: 200 or 304, compressed if Accept-Encoding allows gzip. */
void mw_asset_reply(const struct mw_web_file *, const struct mw_request *, struct mw_response *);
