/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linger.c - connections that are over for us while the client still sends.
 *
 * The kernel resets a closed socket that holds unread bytes, and the client loses an answer that it
 * hasn't read yet. If a request is too large or wrong, libmicrohttpd may close the connection while
 * the client still sends. Then a copy of the descriptor stays open until the client ends, too. Later
 * bytes are discarded, within these limits:
 *  - BYTES_MAX;
 *  - MW_LINGER_MS since the last byte;
 *  - MW_REQUEST_MS in all, since this thread may have to wait for a CPU.
 *
 * Lingers are at most a quarter of the connections; a new one evicts the oldest.
 *
 * Called by the server's thread only. mw_linger() and mw_linger_close() run within
 * mw_moves_begin().
 */
#include "linger.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/times.h"
#include "connections.h"
#include "descriptors.h"
#include "listeners.h"
#include "loop.h"
#include "server_state.h"

#define BYTES_MAX ((uint64_t)4 << 20)
#define AT_ONCE 64 /* reads before other descriptors have their turn */

/* A connection that is over, except that the client still sends. */
struct mw_linger {
	int fd;          /* -1: free */
	uint64_t until;  /* ms; later if something comes */
	uint64_t latest; /* ms; in any case */
	uint64_t left;   /* bytes that may still come */
};

/* The server's thread only. A forked child finds its descriptors here: see server_state.h. */
static struct mw_linger lingers[MW_LINGERS_MAX];

_Static_assert(MW_CONNECTIONS_MAX / 4 <= MW_LINGERS_MAX, "a slot for each");

/* Within mw_moves_begin(). The application may have put its own file in our place. */
static void end_linger(struct mw_linger *l)
{
	if (mw_listeners_own(l->fd))
		close(l->fd);
	l->fd = -1;
}

static void end_now(struct mw_linger *l)
{
	mw_moves_begin();
	end_linger(l);
	mw_moves_end();
}

static struct mw_linger *free_slot(void)
{
	struct mw_linger *oldest = &lingers[0];

	for (unsigned i = 0; i < mw_connections_max() / 4; i++) {
		struct mw_linger *l = &lingers[i];

		if (l->fd < 0)
			return l;
		if (l->until < oldest->until)
			oldest = l;
	}
	end_linger(oldest);
	return oldest;
}

/* True if the client may send more, as far as can be told. */
static bool sends(const struct mw_conn *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n > 0 || (n < 0 && errno == EAGAIN && c->over != atomic_load(&mw_server.moves));
}

void mw_linger(const struct mw_conn *c, uint64_t now)
{
	struct mw_linger *l;

	if (c->fd < 0 || c->dropped || atomic_load(&mw_server.stop_asked) || !sends(c))
		return;
	l = free_slot();
	l->fd = mw_fd_copy(c->fd);
	l->until = now + MW_LINGER_MS;
	l->latest = now + MW_REQUEST_MS;
	l->left = BYTES_MAX;
	if (l->fd < 0)
		return; /* no descriptor is left: the kernel resets the connection */
	shutdown(l->fd, SHUT_WR);
	if (mw_loop_add(l->fd, EPOLLIN, l))
		end_linger(l);
}

static void discard(struct mw_linger *l, uint64_t now)
{
	char waste[16384];
	ssize_t n = 1;

	if (l->fd < 0 || !mw_listeners_own(l->fd))
		return;
	for (int i = 0; i < AT_ONCE && n > 0; i++) {
		n = recv(l->fd, waste, sizeof(waste), MSG_DONTWAIT);
		if (n <= 0)
			continue;
		l->left -= (uint64_t)n < l->left ? (uint64_t)n : l->left;
		l->until = now + MW_LINGER_MS < l->latest ? now + MW_LINGER_MS : l->latest;
	}
	if (n == 0 || !l->left || (n < 0 && errno != EAGAIN && errno != EINTR))
		end_now(l);
}

void mw_linger_event(const void *about, uint64_t now)
{
	for (unsigned i = 0; i < MW_LINGERS_MAX; i++)
		if (about == &lingers[i])
			discard(&lingers[i], now);
}

int mw_linger_due(uint64_t now)
{
	int due = -1;

	for (unsigned i = 0; i < MW_LINGERS_MAX; i++) {
		struct mw_linger *l = &lingers[i];

		if (l->fd < 0)
			continue;
		if (now >= l->until)
			end_now(l);
		else if (due < 0 || l->until - now < (uint64_t)due)
			due = (int)(l->until - now);
	}
	return due;
}

void mw_linger_close(void)
{
	for (unsigned i = 0; i < MW_LINGERS_MAX; i++)
		if (lingers[i].fd >= 0)
			end_linger(&lingers[i]);
}

void mw_linger_reset(void)
{
	for (unsigned i = 0; i < MW_LINGERS_MAX; i++)
		lingers[i].fd = -1;
}

void mw_linger_inherited(void (*close_it)(int fd))
{
	for (unsigned i = 0; i < MW_LINGERS_MAX; i++)
		close_it(lingers[i].fd);
}
