/* SPDX-License-Identifier: GPL-2.0-or-later */
/* head.h - see head.c. The server's thread, out of libmicrohttpd's calls, only. */
#ifndef MW_HTTPD_HEAD_H
#define MW_HTTPD_HEAD_H

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;

struct mw_head {
	const char *method, *version; /* as libmicrohttpd hands them out */
	const char *raw;    /* where it had the target; not what is there now */
	const char *target; /* our copy of it */
};

/* Once a target was copied, before libmicrohttpd takes it apart: its query isn't to be parsed. */
void mw_head_target(const char *uri);

/*
 * NULL, or why the head of this request can be understood in two ways: 400. *length: of
 * the body, if it has a Content-Length; UINT32_MAX or more for whatever is larger.
 */
const char *mw_head_wrong(struct MHD_Connection *, const struct mw_head *, uint64_t *length);

#endif
