/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * library.h - libmicrohttpd, which is loaded once the first client connects.
 *
 * With the TLS libraries that it links to, it takes 2 MB. Most processes that have a server are
 * never looked at. So libmwrap_httpd.so doesn't link to it. libmwrap_mhd.so does, and has nothing
 * but this table.
 */
#pragma once

#include <microhttpd.h>

/* Each function of functions.def, without "MHD_". */
struct mw_mhd {
	size_t size; /* of this struct: another one's is another version's */
#define MW_MHD(name) __typeof__(MHD_##name) *name;
#include "functions.def"
};

/* The one symbol of libmwrap_mhd.so. */
extern const struct mw_mhd mwrap_mhd __attribute__((visibility("default")));

/* The server's pointer to it; NULL: not loaded. Never unloaded. The server's thread only. */
extern const struct mw_mhd *mw_mhd;
