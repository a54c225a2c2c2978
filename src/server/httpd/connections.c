/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connections.c - the slots of connections, and which client loses its own.
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
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "shared/sys/times.h"
#include "loop.h"

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

bool mw_connections_drop_one(uint64_t now)
{
	struct mw_conn *c = least_useful(now);

	if (c)
		drop_connection(c);
	return c != NULL;
}

static uint64_t patience(const struct mw_conn *c)
{
	return c->phase == MW_CONN_WAITING  ? MW_REQUEST_MS :
	       c->phase == MW_CONN_WATCHING ? MW_STALL_MS :
					      MW_RESPONSE_MS;
}

int mw_connections_expire(uint64_t now, bool (*waits)(const struct mw_conn *))
{
	int next = -1;

	for (unsigned i = 0; i < conns_max; i++) {
		struct mw_conn *c = &conns[i];
		uint64_t end = c->since + patience(c);

		if (c->fd < 0 || c->dropped || (c->phase == MW_CONN_WATCHING && waits(c)))
			continue;
		if (now >= end)
			drop_connection(c);
		else
			next = mw_sooner(next, end - now);
	}
	return next;
}
