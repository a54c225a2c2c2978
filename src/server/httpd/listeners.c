/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "listeners.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/sys/times.h"
#include "loop.h"
#include "server_state.h"
#include "socket_lock.h"

/* A forked child finds its descriptors here: see server_state.h. */
static struct mw_listener listeners[MW_LISTENERS_MAX];
static _Atomic unsigned used; /* seq_cst: the thread that ends the process reads it, too */

struct mw_listener *mw_listeners_slot(void)
{
	struct mw_listener *l = &listeners[used];

	if (used == MW_LISTENERS_MAX)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->fd = l->socket_lock.lock_fd = -1;
	return l;
}

void mw_listeners_add(void)
{
	used++;
}

bool mw_listeners_have(const char *path)
{
	for (unsigned i = 0; i < used; i++)
		if (!strcmp(listeners[i].socket_lock.path, path))
			return true;
	return false;
}

int mw_listener_watch(struct mw_listener *l)
{
	return mw_loop_add(l->fd, EPOLLIN, l);
}

int mw_listeners_watch(void)
{
	int ret = 0;

	for (unsigned i = 0; !ret && i < used; i++)
		ret = mw_listener_watch(&listeners[i]);
	return ret;
}

struct mw_listener *mw_listeners_of(void *about)
{
	struct mw_listener *l = about;

	return l >= listeners && l < listeners + MW_LISTENERS_MAX ? l : NULL;
}

void mw_listener_pause(struct mw_listener *l, uint64_t now)
{
	if (!mw_loop_change(l->fd, 0, l))
		l->paused_until = now + MW_PAUSE_MS;
}

int mw_listeners_resume(uint64_t now)
{
	int next = -1;

	for (unsigned i = 0; i < used; i++) {
		struct mw_listener *l = &listeners[i];

		if (!l->paused_until)
			continue;
		if (now < l->paused_until)
			next = mw_sooner(next, l->paused_until - now);
		else if (!mw_loop_change(l->fd, EPOLLIN, l))
			l->paused_until = 0;
	}
	return next;
}

void mw_listener_end(struct mw_listener *l)
{
	mw_moves_begin();
	if (l->fd >= 0 && mw_listeners_own(l->fd))
		close(l->fd);
	l->fd = -1; /* its address stays noted: its connections have it */
	mw_moves_end();
}

void mw_listeners_close(void)
{
	for (unsigned i = 0; i < used; i++) {
		struct mw_listener *l = &listeners[i];

		if (l->fd >= 0 && mw_listeners_own(l->fd))
			close(l->fd);
		l->fd = -1;
		l->addr_len = 0;
		mw_socket_lock_drop(&l->socket_lock);
	}
	used = 0;
}

void mw_listeners_unlink(void)
{
	for (unsigned i = 0; i < used; i++)
		mw_socket_lock_unlink(&listeners[i].socket_lock);
}

uint16_t mw_listener_port(const struct sockaddr_storage *ss)
{
	struct sockaddr_in6 in6; /* the port is where sockaddr_in has it */

	memcpy(&in6, ss, sizeof(in6));
	return ntohs(in6.sin6_port);
}

/*
 * A socket accepted at 0.0.0.0 or [::] is bound to the address that the client used, and our port.
 */
static bool is_from_any(const struct mw_listener *l, const struct sockaddr_storage *ss)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	bool any;

	if (ss->ss_family != l->addr.ss_family || (ss->ss_family != AF_INET && ss->ss_family != AF_INET6))
		return false;
	memcpy(&in, &l->addr, sizeof(in));
	memcpy(&in6, &l->addr, sizeof(in6));
	any = ss->ss_family == AF_INET ? in.sin_addr.s_addr == htonl(INADDR_ANY) :
					 IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
	return any && mw_listener_port(ss) == mw_listener_port(&l->addr);
}

bool mw_listeners_own(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	memset(&ss, 0, sizeof(ss));
	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		return false;
	/* also one that is just being opened and isn't counted yet */
	for (unsigned i = 0; i < MW_LISTENERS_MAX; i++) {
		const struct mw_listener *l = &listeners[i];

		if (l->addr_len && len == l->addr_len &&
		    (!memcmp(&ss, &l->addr, len) || (l->tcp && is_from_any(l, &ss))))
			return true;
	}
	return false;
}

/* The child doesn't inherit the lock itself: closing the descriptor doesn't drop the parent's. */
static void close_lock(const struct mw_socket_lock *c)
{
	struct stat st;

	if (c->lock_fd >= 0 && !fstat(c->lock_fd, &st) && st.st_dev == c->lock_dev &&
	    st.st_ino == c->lock_ino)
		close(c->lock_fd);
}

void mw_listeners_inherited(void (*close_it)(int fd))
{
	for (unsigned i = 0; i < MW_LISTENERS_MAX; i++) {
		close_it(listeners[i].fd);
		if (listeners[i].socket_lock.path[0])
			close_lock(&listeners[i].socket_lock);
	}
}

void mw_listeners_child(void)
{
	used = 0;
	memset(listeners, 0, sizeof(listeners));
	for (unsigned i = 0; i < MW_LISTENERS_MAX; i++)
		listeners[i].fd = listeners[i].socket_lock.lock_fd = -1;
}
