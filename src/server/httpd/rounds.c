/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rounds.c - the rounds of the server's thread: it sleeps, then calls each part that has work.
 *
 * The application may close or replace descriptors that it doesn't know: daemons close everything
 * above 2; a shell's `exec 3>file` takes 3 over. After each sleep, before descriptors are used,
 * mw_rounds_intact() asks the kernel whether our numbers still mean our files. If not, the server ends
 * and leaves open what is now the application's.
 */
#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "shared/sys/clock.h"
#include "server/history/stream.h"
#include "server/reports/reports.h"
#include "shared/sys/sys.h"
#include "accept.h"
#include "connections.h"
#include "daemon.h"
#include "linger.h"
#include "listeners.h"
#include "live.h"
#include "loop.h"
#include "own_site.h"
#include "prover.h"
#include "relay.h"
#include "server_state.h"
#include "takeover.h"
#include "token.h"

bool mw_rounds_intact(void)
{
	return mw_loop_ours() && (!mw_daemon_runs() || mw_daemon_ours());
}

int mw_rounds_open(char err[MW_ERROR_MAX])
{
	if (mw_loop_open(err))
		return -1;
	mw_own_site_open();
	if (mw_listeners_watch()) {
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be watched: %s",
			 mw_sys_error(errno));
		return -1;
	}
	return 0;
}

/* due: -1 if nothing is */
static int earlier(int ms, int due)
{
	return due >= 0 && due < ms ? due : ms;
}

/* True if a stream's client has read everything it was sent. */
static bool waits_for_us(const struct mw_conn *c)
{
	return mw_live_waits(c) || mw_relay_waits(c);
}

/* second: ms until the next point of the history */
static int timeout_ms(uint64_t now, unsigned second)
{
	int ms = (int)second;

	ms = earlier(ms, mw_connections_expire(now, waits_for_us));
	ms = earlier(ms, mw_listeners_resume(now));
	ms = earlier(ms, mw_live_due(now));
	ms = earlier(ms, mw_linger_due(now));
	return earlier(ms, mw_daemon_due());
}

enum { EVENTS = MW_LISTENERS_MAX + 2 + MW_WATCHERS_MAX + MW_LINGERS_MAX };

/* Dispatches an event of ours: about a listener, a connection, a linger or the eventfd. */
static void dispatch(void *about, uint64_t now)
{
	struct mw_listener *l = mw_listeners_of(about);
	struct mw_conn *c = mw_conn_about(about);

	if (l) {
		mw_accept_clients(l, now);
	} else if (c) {
		mw_live_hangup(c);
		mw_relay_hangup(c);
	} else if (!mw_loop_woken(about)) {
		mw_linger_event(about, now);
	}
}

/* Sleeps for `ms` at most. Meanwhile others may have the site. */
static int sleep_ms(struct epoll_event *ev, int ms)
{
	int n;

	mw_own_site_give();
	n = mw_loop_sleep(ev, EVENTS, ms);
	mw_own_site_take();
	return n;
}

static enum mw_httpd_is run_rounds(void)
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

		if (n < 0 || !mw_rounds_intact())
			return MW_HTTPD_FAILED;
		now = mw_now_ms();
		/* before any request is answered */
		if (mw_token_refresh(mw_takeover_speaks)) {
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

enum mw_httpd_is mw_rounds_run(void)
{
	enum mw_httpd_is ret;

	mw_own_site_lend();
	ret = run_rounds();
	mw_own_site_keep();
	return ret;
}
