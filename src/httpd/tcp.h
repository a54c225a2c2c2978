/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tcp.h - the port that `listen` names. See tcp.c. */
#ifndef MW_HTTPD_TCP_H
#define MW_HTTPD_TCP_H

#include <stdint.h>

#include "server.h"

/*
 * Opens it, at the start. known: the number that this process had before exec, where the options
 * leave it open; 0: none. 0, or -1 with a line in err. A new number is said on stderr.
 */
int mw_tcp_open(struct mw_listener *, const struct mw_options *, uint16_t known, char err[MW_ERROR_MAX]);

/*
 * Opens the port that another process of the family had, while the loop runs. l: the slot of an
 * earlier time, NULL: none. known: the number, where the options leave it open; 0: nobody had one.
 * NULL: not now, and nothing is said.
 */
struct mw_listener *mw_tcp_take(struct mw_listener *l, uint16_t known);

/* Of a listener's or a connection's address. */
uint16_t mw_tcp_port(const struct sockaddr_storage *);

#endif
