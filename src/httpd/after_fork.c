/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * after_fork.c - lets go of the parent's server in a forked child.
 *
 * A child that kept the listening socket or a client's connection open would make a dead parent
 * look alive. The state may be half-updated; server.h has the rules that make this work. The child
 * of a threaded process may make only async-signal-safe calls: no malloc, no stdio, no lock. The
 * child doesn't inherit the locks of the parent's socket files; closing their descriptors here
 * doesn't drop them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relay.h"
#include "takeover.h"
#include "server.h"

struct dirent_head { /* as getdents64 writes it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void close_if_ours(int fd)
{
	if (fd >= 0 && (mw_listen_is_ours(fd) || mw_token_is_ours(fd)))
		close(fd);
}

static int number(const char *s)
{
	int n = 0;

	for (; *s; s++) {
		if (*s < '0' || *s > '9' || n > 100000000)
			return -1;
		n = n * 10 + (*s - '0');
	}
	return n;
}

/* Without /proc, tries every number. */
static void search_numbers(void)
{
	struct rlimit rl;
	int end = 65536;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < (rlim_t)end)
		end = (int)rl.rlim_cur;
	for (int fd = 0; fd < end; fd++)
		close_if_ours(fd);
}

/* Closes every socket that is bound to one of our addresses, and the token's file. */
static void search(void)
{
	_Alignas(8) char buf[2048];
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (dir < 0) {
		search_numbers();
		return;
	}
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent_head *d = (const void *)(buf + at);

			close_if_ours(number(buf + at + offsetof(struct dirent_head, name)));
			at += d->len;
		}
	}
	close(dir);
}

static bool has_evfd(int epfd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = events ? &mw_server.evfd : NULL };

	return epfd >= 0 && mw_server.evfd >= 0 && !epoll_ctl(epfd, EPOLL_CTL_MOD, mw_server.evfd, &ev);
}

static void close_lock(const struct mw_socket_lock *c)
{
	struct stat st;

	if (c->lock_fd >= 0 && !fstat(c->lock_fd, &st) && st.st_dev == c->lock_dev &&
	    st.st_ino == c->lock_ino)
		close(c->lock_fd);
}

static void close_inherited(uint32_t moves)
{
	bool mhd = has_evfd(mw_server.mhd_epfd, 0), own = has_evfd(mw_server.epfd, EPOLLIN);

	if (moves & 1 || atomic_load(&mw_server.moves) != moves)
		search();
	for (unsigned i = 0; i < MW_CONNECTIONS_MAX; i++)
		close_if_ours(mw_server.conns[i].fd);
	mw_linger_inherited(close_if_ours);
	for (unsigned i = 0; i < MW_LISTENERS_MAX; i++) {
		close_if_ours(mw_server.listeners[i].fd);
		if (mw_server.listeners[i].socket_lock.path[0])
			close_lock(&mw_server.listeners[i].socket_lock);
	}
	mw_proc_close(&mw_server.statm);
	mw_proc_close(&mw_server.smaps);
	/* these are known to be ours while each epoll has the eventfd in it */
	if (mhd)
		close(mw_server.mhd_epfd);
	if (own) {
		close(mw_server.epfd);
		close(mw_server.evfd);
	}
}

uint32_t mw_child_before_fork(void)
{
	return atomic_load(&mw_server.moves);
}

void mw_child_after_fork(uint32_t moves)
{
	int saved = errno, was = atomic_load(&mw_server.state);

	if (was == MW_SERVER_RUNNING || was == MW_SERVER_PARKED)
		close_inherited(moves);
	if (was != MW_SERVER_NONE)
		atomic_store(&mw_server.forked, true);
	atomic_store(&mw_server.tid, 0);
	mw_token_child();
	mw_endpoint_child();
	mw_server.daemon = NULL;
	mw_server.mhd_epfd = -1;
	atomic_store(&mw_server.epfd, -1);
	atomic_store(&mw_server.evfd, -1);
	mw_server.listeners_n = 0;
	memset(mw_server.listeners, 0, sizeof(mw_server.listeners));
	for (unsigned i = 0; i < MW_LISTENERS_MAX; i++)
		mw_server.listeners[i].fd = mw_server.listeners[i].socket_lock.lock_fd = -1;
	mw_server.statm.fd = mw_server.smaps.fd = -1;
	mw_connections_reset();
	mw_linger_reset();
	mw_live_reset();
	mw_relay_reset();
	mw_takeover_child();
	mw_exit_verdict_reset();
	atomic_store(&mw_server.moves, 0);
	atomic_store(&mw_server.stop_asked, false);
	mw_opening_end();
	atomic_store(&mw_server.state, MW_SERVER_NONE);
	errno = saved;
}
