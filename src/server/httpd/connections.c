/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connections.c - gives connections a slot, and takes it away.
 *
 * There are conns_max slots. When they are full, the client that has been silent longest loses its
 * slot: idle clients never keep a newcomer out. A client has MW_REQUEST_MS in all to send a
 * request; trickling doesn't extend it. Watchers (live.c) stay as long as they read.
 *
 * A drop is a shutdown(2). libmicrohttpd owns the descriptor: it sees the end of the stream,
 * closes, and tells mhd.c, which frees the slot. Called by the server's thread only.
 */
#include "connections.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/times.h"
#include "daemon.h"
#include "descriptors.h"
#include "listeners.h"
#include "live.h"
#include "loop.h"
#include "relay.h"
#include "server_state.h"

#define ACCEPT_BATCH 16u

/* A forked child finds its descriptors here: see server_state.h. */
static struct mw_conn conns[MW_CONNECTIONS_MAX];
static unsigned conns_max; /* slots in use */

/* Connections take at most an eighth of what the application may open. */
void mw_connections_start(void)
{
	struct rlimit rl = { .rlim_cur = 1024 };
	rlim_t eighth;

	mw_connections_reset();
	getrlimit(RLIMIT_NOFILE, &rl);
	eighth = rl.rlim_cur / 8;
	conns_max = eighth < 4 ? 4 : eighth > MW_CONNECTIONS_MAX ? MW_CONNECTIONS_MAX : (unsigned)eighth;
}

unsigned mw_connections_max(void)
{
	return conns_max;
}

void mw_connections_reset(void)
{
	for (unsigned i = 0; i < MW_CONNECTIONS_MAX; i++)
		conns[i].fd = -1;
}

struct mw_conn *mw_conn_of(int fd)
{
	for (unsigned i = 0; i < conns_max; i++)
		if (conns[i].fd == fd)
			return &conns[i];
	return NULL;
}

struct mw_conn *mw_conn_about(void *about)
{
	struct mw_conn *c = about;

	return c >= conns && c < conns + MW_CONNECTIONS_MAX ? c : NULL;
}

bool mw_conn_hear_of_end(struct mw_conn *c)
{
	const uint32_t events = EPOLLRDHUP | EPOLLONESHOT;

	return !mw_loop_add(c->fd, events, c) || (errno == EEXIST && !mw_loop_change(c->fd, events, c));
}

void mw_connections_inherited(void (*close_it)(int fd))
{
	for (unsigned i = 0; i < MW_CONNECTIONS_MAX; i++)
		close_it(conns[i].fd);
}

void mw_conn_phase(struct mw_conn *c, enum mw_conn_phase phase, uint64_t now)
{
	static uint64_t turns;

	c->phase = phase;
	c->since = now;
	c->turn = turns++;
}

/*
 * libmicrohttpd 0.9.75 takes a short read for the last one until epoll reports more. So it misses
 * an end of stream that came with data. drop_connection() leaves it nothing to read but the end.
 */
static void drop_connection(struct mw_conn *c)
{
	char waste[1024];
	int tries = 0;

	while (tries++ < 256 && recv(c->fd, waste, sizeof(waste), MSG_DONTWAIT) > 0)
		;
	c->dropped = true;
	shutdown(c->fd, SHUT_RDWR);
}

static struct mw_conn *oldest(enum mw_conn_phase phase, const struct mw_conn *but)
{
	struct mw_conn *old = NULL;

	for (unsigned i = 0; i < conns_max; i++) {
		struct mw_conn *c = &conns[i];

		if (c->fd >= 0 && !c->dropped && c != but && c->phase == phase &&
		    (!old || c->turn < old->turn))
			old = c;
	}
	return old;
}

void mw_connections_drop_slow(const struct mw_conn *but, uint64_t now)
{
	struct mw_conn *c = oldest(MW_CONN_ANSWERING, but);

	if (c && now - c->since >= MW_SLOW_MS)
		drop_connection(c);
}

static struct mw_conn *least_useful(uint64_t now)
{
	struct mw_conn *c = oldest(MW_CONN_WAITING, NULL);

	if (c)
		return c;
	c = oldest(MW_CONN_ANSWERING, NULL);
	return c && now - c->since >= MW_SHUFFLE_MS ? c : NULL;
}

/* Returns a free slot, dropping a connection if need be; NULL if all are busy. */
static struct mw_conn *slot(uint64_t now)
{
	struct mw_conn *c = mw_conn_of(-1);

	for (int tries = 0; !c && tries < 4; tries++) {
		c = least_useful(now);
		if (!c)
			break;
		drop_connection(c);
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

void mw_connections_accept(struct mw_listener *l, uint64_t now)
{
	/* fewer than the slots: a newcomer's request is read before others evict it */
	unsigned batch = conns_max / 2 < ACCEPT_BATCH ? conns_max / 2 : ACCEPT_BATCH;

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

static uint64_t patience(const struct mw_conn *c)
{
	return c->phase == MW_CONN_WAITING  ? MW_REQUEST_MS :
	       c->phase == MW_CONN_WATCHING ? MW_STALL_MS :
					      MW_RESPONSE_MS;
}

int mw_connections_expire(uint64_t now)
{
	int next = -1;

	for (unsigned i = 0; i < conns_max; i++) {
		struct mw_conn *c = &conns[i];
		uint64_t end = c->since + patience(c);

		if (c->fd < 0 || c->dropped ||
		    (c->phase == MW_CONN_WATCHING && (mw_live_waits(c) || mw_relay_waits(c))))
			continue;
		if (now >= end)
			drop_connection(c);
		else
			next = mw_sooner(next, end - now);
	}
	return next;
}
