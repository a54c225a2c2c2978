/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp.c - the port that `listen` names: one for a whole family.
 *
 * The process with the family's path has the port, too (takeover.c). The first process opens it as
 * it starts, and logs problems. A process that takes the path over opens the same port silently.
 * Called by the server's thread. Every descriptor is close-on-exec and non-blocking.
 */
#include "tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "descriptors.h"
#include "listeners.h"
#include "server_state.h"
#include "token.h"

static socklen_t tcp_addr(struct sockaddr_storage *ss, const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		memcpy(ss, &in, sizeof(in));
		return sizeof(in);
	}
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		memcpy(ss, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

/* Returns 0, or -1 with errno. On success l->addr is complete, port included. */
static int bind_tcp(struct mw_listener *l, int fd, const char *host, uint16_t port)
{
	struct sockaddr_storage ss;
	socklen_t len = tcp_addr(&ss, host, port);
	int one = 1;

	if (!len) {
		errno = EINVAL;
		return -1;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return -1;
	if (ss.ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)))
		return -1;
	if (bind(fd, (struct sockaddr *)&ss, len))
		return -1;
	/* not before: until it is bound, a socket with this address is another's */
	len = sizeof(l->addr);
	if (getsockname(fd, (struct sockaddr *)&l->addr, &len))
		return -1;
	l->addr_len = len;
	return listen(fd, MW_BACKLOG);
}

static void say_tcp(const struct mw_listener *l, const char *host)
{
	bool six = l->addr.ss_family == AF_INET6;

	mw_log("listening on http://%s%s%s:%u/", six ? "[" : "", host, six ? "]" : "",
	       (unsigned)mw_listener_port(&l->addr));
}

/* Returns 0, or -1 with errno. port 0: any. */
static int open_port(struct mw_listener *l, const struct mw_options *o, uint16_t port)
{
	const char *host = o->listen_host;
	int fd = mw_fd_high(socket(strchr(host, ':') ? AF_INET6 : AF_INET,
				   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int e;

	l->tcp = true;
	l->fd = fd;
	if (fd < 0)
		return -1;
	if (!bind_tcp(l, fd, host, port))
		return 0;
	e = errno;
	l->fd = -1;
	close(fd);
	errno = e;
	return -1;
}

int mw_tcp_open(struct mw_listener *l, const struct mw_options *o, uint16_t known, char err[MW_ERROR_MAX])
{
	if (mw_token_wrong()) { /* the port is for nobody, then */
		snprintf(err, MW_ERROR_MAX, "%s. The server doesn't listen on %.60s", mw_token_wrong(),
			 o->listen);
		return -1;
	}
	if (known && !o->listen_port && !open_port(l, o, known))
		return 0;
	if (open_port(l, o, o->listen_port)) {
		snprintf(err, MW_ERROR_MAX, "%.100s: can't listen: %s", o->listen, mw_sys_error(errno));
		return -1;
	}
	if (!o->listen_port)
		say_tcp(l, o->listen_host);
	return 0;
}

struct mw_listener *mw_tcp_take(struct mw_listener *l, uint16_t known)
{
	const struct mw_options *o = mw_server.api->options();
	bool fresh = !l;
	int e = 0;

	errno = 0;
	if (mw_token_wrong())
		return NULL;
	if (fresh)
		l = mw_listeners_slot();
	if (!l)
		return NULL;
	mw_moves_begin();
	if (open_port(l, o, o->listen_port ? o->listen_port : known)) {
		e = errno;
		if (fresh)
			l->addr_len = 0; /* a socket with this address isn't ours */
		l = NULL;
	} else if (mw_listener_watch(l)) {
		close(l->fd);
		l->fd = -1;
		if (fresh)
			l->addr_len = 0;
		l = NULL;
	} else if (fresh) {
		mw_listeners_add();
	}
	mw_moves_end();
	if (l && !o->listen_port && !known)
		say_tcp(l, o->listen_host);
	errno = e;
	return l;
}
