/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.c - the descriptors by which the server's thread sleeps and is woken.
 *
 * The loop is ours, so every descriptor is known: an epoll of listeners, an eventfd that wakes it,
 * and, from the first client on, libmicrohttpd's own epoll of connections. There is no select(2):
 * descriptors may have any number.
 *
 * It knows none of those who wait in it: rounds.c sleeps here, and tells them of their events.
 */
#include "loop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "descriptors.h"

/* Written by the server's thread; any thread reads them to wake the loop: seq_cst. */
static _Atomic int epfd = -1; /* listeners, evfd, the daemon's epoll, connections that may end */
static _Atomic int evfd = -1;

static int control(int in, int how, int fd, uint32_t events, void *about)
{
	struct epoll_event ev = { .events = events, .data.ptr = about };

	return epoll_ctl(in, how, fd, &ev);
}

int mw_loop_add(int fd, uint32_t events, void *about)
{
	return control(epfd, EPOLL_CTL_ADD, fd, events, about);
}

int mw_loop_change(int fd, uint32_t events, void *about)
{
	return control(epfd, EPOLL_CTL_MOD, fd, events, about);
}

int mw_loop_mark(int other)
{
	return control(other, EPOLL_CTL_ADD, evfd, 0, NULL);
}

/* The kernel finds the eventfd in an epoll only if both descriptors are unchanged. */
bool mw_loop_marked(int other)
{
	return other >= 0 && evfd >= 0 && !control(other, EPOLL_CTL_MOD, evfd, 0, NULL);
}

bool mw_loop_ours(void)
{
	return epfd >= 0 && evfd >= 0 && !mw_loop_change(evfd, EPOLLIN, &evfd);
}

int mw_loop_open(char err[MW_ERROR_MAX])
{
	epfd = mw_fd_high(epoll_create1(EPOLL_CLOEXEC));
	evfd = mw_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (epfd < 0 || evfd < 0) {
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be created: %s",
			 mw_sys_error(errno));
		return -1;
	}
	if (mw_loop_add(evfd, EPOLLIN, &evfd)) {
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be watched: %s",
			 mw_sys_error(errno));
		return -1;
	}
	return 0;
}

static void close_fd(_Atomic int *fd)
{
	int n = atomic_exchange(fd, -1);

	if (n >= 0)
		close(n);
}

void mw_loop_close(bool intact)
{
	if (intact) {
		close_fd(&epfd);
		close_fd(&evfd);
	}
	mw_loop_forget();
}

void mw_loop_inherited(void)
{
	close(epfd);
	close(evfd);
}

void mw_loop_forget(void)
{
	atomic_store(&epfd, -1);
	atomic_store(&evfd, -1);
}

int mw_loop_wake_fd(void)
{
	return evfd;
}

void mw_loop_wake(void)
{
	const uint64_t one = 1;
	int fd = evfd, saved = errno;

	/* never into a file of the application's that has the number now */
	if (fd >= 0 && !mw_loop_change(fd, EPOLLIN, &evfd) && write(fd, &one, sizeof(one)) < 0)
		errno = saved; /* the counter is full: it wakes anyway */
	errno = saved;
}

int mw_loop_sleep(struct epoll_event *ev, int max, int ms)
{
	int n = epoll_wait(epfd, ev, max, ms);

	return n < 0 && errno == EINTR ? 0 : n;
}

/* Empties the eventfd; the loop looks at everything anyway. */
static void drain(void)
{
	uint64_t n;

	if (read(evfd, &n, sizeof(n)) < 0)
		return; /* it was empty */
}

bool mw_loop_woken(const void *about)
{
	if (about != &evfd)
		return false;
	drain();
	return true;
}
