/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * web.h - the files of web/, compiled in by embed.rb. Static, read-only, safe
 * for every thread.
 */
#ifndef MW_PAGES_WEB_H
#define MW_PAGES_WEB_H

#include <stddef.h>

struct mw_web_file {
	const char *name;          /* without a folder: "mwrap.css" */
	const char *type;          /* value of Content-Type; NULL: a template, not served */
	const unsigned char *data; /* followed by a NUL that size doesn't count */
	size_t size;
};

extern const struct mw_web_file mw_web_files[];
extern const size_t mw_web_files_n;

#endif
