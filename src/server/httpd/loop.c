/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.c - the server's loop.
 *
 * The loop is ours, so every descriptor is known: an epoll of listeners, an eventfd that wakes it,
 * and, from the first client on, libmicrohttpd's own epoll of connections. There is no select(2):
 * descriptors may have any number.
 *
 * The application may close or replace descriptors that it doesn't know: daemons close everything
 * above 2; a shell's `exec 3>file` takes 3 over. After each sleep, before descriptors are used,
 * mw_loop_intact() asks the kernel whether our numbers still mean our files. If not, the server ends
 * and leaves open what is now the application's.
 */
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "server/history/stream.h"
#include "server/reports/reports.h"
#include "shared/sys/sys.h"
#include "connections.h"
#include "daemon.h"
#include "descriptors.h"
#include "linger.h"
#include "listeners.h"
#include "live.h"
#include "own_site.h"
#include "prover.h"
#include "relay.h"
#include "server_state.h"
#include "takeover.h"
#include "token.h"

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

bool mw_loop_intact(void)
{
	return mw_loop_ours() && (!mw_daemon_runs() || mw_daemon_ours());
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
	mw_own_site_open();
	if (mw_loop_add(evfd, EPOLLIN, &evfd) || mw_listeners_watch()) {
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

/* due: -1 if nothing is */
static int earlier(int ms, int due)
{
	return due >= 0 && due < ms ? due : ms;
}

/* second: ms until the next point of the history */
static int timeout_ms(uint64_t now, unsigned second)
{
	int ms = (int)second;

	ms = earlier(ms, mw_connections_expire(now));
	ms = earlier(ms, mw_listeners_resume(now));
	ms = earlier(ms, mw_live_due(now));
	ms = earlier(ms, mw_linger_due(now));
	return earlier(ms, mw_daemon_due());
}

enum { EVENTS = MW_LISTENERS_MAX + 2 + MW_WATCHERS_MAX + MW_LINGERS_MAX };

/* Empties the eventfd; the loop looks at everything anyway. */
static void drain(void)
{
	uint64_t n;

	if (read(evfd, &n, sizeof(n)) < 0)
		return; /* it was empty */
}

/* Dispatches an event of ours: about a listener, a connection, a linger or the eventfd. */
static void dispatch(void *about, uint64_t now)
{
	struct mw_listener *l = mw_listeners_of(about);
	struct mw_conn *c = mw_conn_about(about);

	if (l) {
		mw_connections_accept(l, now);
	} else if (c) {
		mw_live_hangup(c);
		mw_relay_hangup(c);
	} else if (about == &evfd) {
		drain();
	} else {
		mw_linger_event(about, now);
	}
}

/* Sleeps for `ms` at most. Meanwhile others may have the site. */
static int sleep_ms(struct epoll_event *ev, int ms)
{
	int n;

	mw_own_site_give();
	n = epoll_wait(epfd, ev, EVENTS, ms);
	if (n < 0 && errno == EINTR)
		n = 0;
	mw_own_site_take();
	return n;
}

static enum mw_httpd_is run_loop(void)
{
	struct epoll_event ev[EVENTS];

	while (!atomic_load(&mw_server.stop_asked)) {
		if (mw_server.api->leaving())
			return MW_HTTPD_LEFT;
		unsigned second = mw_own_site_second();
		mw_prover_run(mw_own_site());
		uint64_t now = mw_now_ms();
		int ms = earlier((int)second, mw_takeover_look(now));

		ms = earlier(ms, mw_reports_look(mw_own_site(), now));
		int n = sleep_ms(ev, timeout_ms(now, (unsigned)ms));

		if (n < 0 || !mw_loop_intact())
			return MW_HTTPD_FAILED;
		now = mw_now_ms();
		/* before any request is answered */
		if (mw_token_refresh()) {
			mw_live_close();
			mw_relay_close();
		}
		for (int i = 0; i < n; i++)
			dispatch(ev[i].data.ptr, now);
		mw_live_run(now);
		mw_relay_run();
		if (!mw_daemon_runs())
			continue;
		mw_moves_begin();
		mw_daemon_run();
		mw_moves_end();
	}
	return MW_HTTPD_ENDED;
}

enum mw_httpd_is mw_loop_run(void)
{
	enum mw_httpd_is ret;

	mw_own_site_lend();
	ret = run_loop();
	mw_own_site_keep();
	return ret;
}
