/* SPDX-License-Identifier: GPL-2.0-or-later */
/* httpd.c - the server's life: start, stop, park. */
#include "httpd.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/border.h"
#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "server/family/ask.h"
#include "after_fork.h"
#include "ancestors.h"
#include "cleanup.h"
#include "connections.h"
#include "daemon.h"
#include "descriptors.h"
#include "endpoint.h"
#include "exit_verdict.h"
#include "linger.h"
#include "listen.h"
#include "listeners.h"
#include "live.h"
#include "load_mhd.h"
#include "loop.h"
#include "own_site.h"
#include "prover.h"
#include "relay.h"
#include "server/reports/reports.h"
#include "rounds.h"
#include "rundir.h"
#include "server_state.h"
#include "takeover.h"
#include "token.h"

enum { OPENING_MS = 2000, OPENING_STEP_MS = 20 };

static void set_state(enum mw_server_state s)
{
	atomic_store(&mw_server.state, (int)s);
	syscall(SYS_futex, &mw_server.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * Removes files first: no client may find a socket that doesn't answer. If not `intact`, closes
 * only what is provably ours, and leaves the daemon as it is.
 */
static void close_all(bool intact)
{
	mw_moves_begin();
	(void)mw_opening_begin(); /* the process's end waits for this, too */
	if (intact)
		mw_takeover_cleanup();
	mw_takeover_end();
	mw_listeners_unlink();
	if (intact)
		mw_cleanup_rundir();
	mw_opening_end();
	if (intact && mw_daemon_runs()) {
		mw_live_close();
		mw_relay_close();
		mw_prover_close();
		mw_daemon_stop();
	}
	mw_live_reset();
	mw_linger_close();
	mw_own_site_close();
	mw_daemon_forget();
	mw_listeners_close();
	mw_loop_close(intact);
	mw_connections_reset();
	mw_moves_end();
}

/* from start_server(); NULL after its call */
static void (*tell_opened)(void);

static void opened(void)
{
	if (tell_opened)
		tell_opened();
	tell_opened = NULL;
}

/*
 * libmicrohttpd can't go on and would abort(): ends the server, not the process. The server's thread
 * sleeps for ever.
 */
static _Noreturn void park(const char *file, unsigned line, const char *why)
{
	mw_log("libmicrohttpd: gave up (%s:%u: %.*s): the server is off", file, line,
	       (int)strcspn(why, "\n"), why);
	mw_own_site_keep();
	close_all(false);
	opened();
	set_state(MW_SERVER_PARKED);
	for (;;)
		pause();
}

static bool open_listeners(const struct mw_options *o, char err[MW_ERROR_MAX])
{
	mw_token_start(o);
	if (!mw_listen_all(o, err)) {
		if (!o->report_dir)
			return false;
		if (err[0] && mw_options_serve(o))
			mw_log("%s", err); /* reports need no address */
		err[0] = '\0';
	}
	if (mw_token_wrong() && !o->listen && !mw_ancestor_served()) /* `listen` told it */
		mw_log("%s. Every request is refused until this is right", mw_token_wrong());
	return true;
}

/* The process's end waits for it, as for files that are being removed. */
static void write_at_exit(void)
{
	(void)mw_opening_begin();
	mw_own_site()->statm = -1; /* it is closed */
	mw_reports_exit(mw_own_site());
	mw_opening_end();
}

/* Ends it for good. */
static void finish(bool intact)
{
	opened();
	mw_endpoint_end();
	close_all(intact);
	if (atomic_load(&mw_server.stop_asked))
		write_at_exit();
	/* after the sockets: exit waits only so long. If the server ends before the process, it can't know */
	if (atomic_load(&mw_server.stop_asked))
		mw_exit_verdict_keep(mw_own_site());
	mw_site_end(mw_own_site());
	mw_token_forget();
	mw_opening_end();
	atomic_store(&mw_server.tid, 0); /* the number may soon be another thread's */
	set_state(MW_SERVER_ENDED);
}

static enum mw_httpd_is serve(char err[MW_ERROR_MAX])
{
	enum mw_httpd_is is;

	atomic_store(&mw_server.tid, (pid_t)syscall(SYS_gettid));
	is = mw_rounds_run();
	mw_server.left = is == MW_HTTPD_LEFT;
	if (mw_server.left) {
		atomic_store(&mw_server.tid, 0);
		return is;
	}
	if (is == MW_HTTPD_FAILED && atomic_load(&mw_server.stop_asked)) {
		finish(false);
		return MW_HTTPD_ENDED; /* it was to stop anyway */
	}
	if (is == MW_HTTPD_FAILED)
		snprintf(err, MW_ERROR_MAX, "the server is off: the application closed its descriptors");
	finish(is == MW_HTTPD_ENDED && mw_rounds_intact());
	return is;
}

static void prepare(const struct mw_api *api)
{
	mw_border();
	mw_exit_verdict_reset();
	mw_server.api = api;
	mw_server.pid = getpid();
	mw_ask_leaving = api->leaving;
	mw_mhd_park = park;
	mw_connections_start();
	mw_linger_reset();
	mw_fd_start();
	mw_site_start(mw_own_site(), api);
	mw_reports_start(api);
}

static int start_server(const struct mw_api *api, void (*tell)(void), char err[MW_ERROR_MAX])
{
	int was = atomic_load(&mw_server.state);

	tell_opened = tell;
	if (was == MW_SERVER_RUNNING && mw_server.left) {
		opened();
		return serve(err);
	}
	if (was == MW_SERVER_RUNNING || was == MW_SERVER_PARKED ||
	    !atomic_compare_exchange_strong(&mw_server.state, &was, MW_SERVER_RUNNING)) {
		snprintf(err, MW_ERROR_MAX, "the server is running already");
		opened();
		return MW_HTTPD_FAILED;
	}
	prepare(api);
	mw_moves_begin();
	if (!mw_opening_begin()) {
		finish(true);
		return MW_HTTPD_ENDED;
	}
	if (!open_listeners(api->options(), err) || mw_rounds_open(err)) {
		finish(true);
		return err[0] ? MW_HTTPD_FAILED : MW_HTTPD_ENDED; /* an ancestor has logged it */
	}
	mw_opening_end();
	mw_moves_end();
	/* before any child can be forked and requests the path from a shell first */
	(void)mw_takeover_look(mw_now_ms());
	opened();
	mw_reports_wake(mw_loop_wake_fd());
	mw_endpoint_tell(mw_token_access());
	return serve(err);
}

static void stop(void)
{
	atomic_store(&mw_server.stop_asked, true);
	mw_loop_wake();
}

/*
 * A file that is being made can't be removed yet. The server's thread goes last, and on a busy
 * machine may need longer than `ms` for a quick step. So this waits on while `opening`, at most
 * OPENING_MS more.
 */
static bool wait_stopped(unsigned ms)
{
	uint64_t now = mw_now_ms(), end = now + ms, latest = end + OPENING_MS;

	for (;; now = mw_now_ms()) {
		int s = atomic_load(&mw_server.state);
		uint64_t left;
		struct timespec ts;

		if (end <= now && now < latest && atomic_load(&mw_server.opening))
			end = now + OPENING_STEP_MS;
		left = end > now ? end - now : 0;
		ts = (struct timespec){ .tv_sec = (time_t)(left / 1000),
					.tv_nsec = (long)(left % 1000) * 1000000 };
		if (s != MW_SERVER_RUNNING)
			return s != MW_SERVER_PARKED;
		if (!left) {
			mw_listeners_unlink();
			mw_rundir_remove();
			return false;
		}
		syscall(SYS_futex, &mw_server.state, FUTEX_WAIT_PRIVATE, s, &ts, NULL, 0);
	}
}

static bool parked(void)
{
	return atomic_load(&mw_server.state) == MW_SERVER_PARKED;
}

const struct mw_httpd_api mwrap_httpd = {
	.version = MW_HTTPD_VERSION,
	.start = start_server,
	.wake = mw_loop_wake,
	.stop = stop,
	.wait_stopped = wait_stopped,
	.before_fork = mw_child_before_fork,
	.child_after_fork = mw_child_after_fork,
	.endpoint = mw_endpoint_get,
	.site = mw_own_site_borrow,
	.site_give = mw_own_site_give,
	.parked = parked,
	.exit_verdict = mw_exit_verdict,
};
