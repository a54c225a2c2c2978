/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_head.h - see check_head.c. The server's thread only, out of libmicrohttpd's calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;

struct mw_head {
	const char *method, *version; /* as libmicrohttpd hands them out */
	const char *raw;    /* its address in libmicrohttpd's buffer; the target may be gone */
	const char *target; /* our copy of it */
};

/*
 * Keeps libmicrohttpd from parsing the query. Call after copying the target, before libmicrohttpd
 * splits it.
 */
void mw_head_target(const char *uri);

/*
 * Returns NULL, or the reason to answer 400: this head can be understood in two ways. *length: the
 * Content-Length, 0 without one. One above UINT32_MAX yields UINT32_MAX or more.
 */
const char *mw_head_wrong(struct MHD_Connection *, const struct mw_head *, uint64_t *length);
