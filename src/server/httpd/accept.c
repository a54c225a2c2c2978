/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accept.c - accepts clients, and gives them to libmicrohttpd. The first one has it loaded.
 *
 * When the slots of connections.c are full, a newcomer gets the slot of the least useful client.
 */
#include "accept.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "connections.h"
#include "daemon.h"
#include "descriptors.h"
#include "listeners.h"
#include "server_state.h"

#define ACCEPT_BATCH 16u

/* Returns a free slot, dropping a connection if need be; NULL if all are busy. */
static struct mw_conn *slot(uint64_t now)
{
	struct mw_conn *c = mw_conn_of(-1);

	for (int tries = 0; !c && tries < 4; tries++) {
		if (!mw_connections_drop_one(now))
			break;
		mw_daemon_run(); /* sees the end of the dropped stream and closes it */
		c = mw_conn_of(-1);
	}
	return c;
}

/* There is no libmicrohttpd: the client learns why, and so does the log, once. */
static void refuse_client(int fd, const char *why)
{
	static bool told;
	char text[MW_ERROR_MAX + 256];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
		 "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s\n",
		 strlen(why) + 1, why);

	if (!told)
		mw_log("%s", why);
	told = true;
	(void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void take_client(struct mw_listener *l, int fd, uint64_t now)
{
	struct mw_conn *c = slot(now);

	if (!c) {
		close(fd);
		return;
	}
	*c = (struct mw_conn){ .fd = fd, .tcp = l->tcp };
	mw_conn_phase(c, MW_CONN_WAITING, now);
	if (!mw_daemon_add(l, fd))
		c->fd = -1;
}

void mw_accept_clients(struct mw_listener *l, uint64_t now)
{
	/* fewer than the slots: a newcomer's request is read before others evict it */
	unsigned batch = mw_connections_max() / 2 < ACCEPT_BATCH ? mw_connections_max() / 2 : ACCEPT_BATCH;

	char err[MW_ERROR_MAX];
	bool serves = !mw_daemon_begin(err);

	for (unsigned i = 0; i < batch; i++) {
		int fd, e;

		mw_moves_begin();
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		e = errno;
		if (fd >= 0) {
			if (serves)
				take_client(l, mw_fd_high(fd), now);
			else
				refuse_client(fd, err);
		} else if (e == EMFILE || e == ENFILE || e == ENOBUFS || e == ENOMEM) {
			mw_listener_pause(l, now);
		}
		mw_moves_end();
		if (fd < 0 && e != ECONNABORTED && e != EINTR)
			return;
	}
}
