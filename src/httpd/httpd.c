/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * httpd.c - the server's life: start, loop, stop, park.
 *
 * The loop is ours, so every descriptor is known: an epoll of listeners, an eventfd that wakes it,
 * and, from the first client on, libmicrohttpd's own epoll of connections. There is no select(2): descriptors may have any
 * number.
 *
 * The application may close or replace descriptors that it doesn't know: daemons close everything
 * above 2; a shell's `exec 3>file` takes 3 over. After each sleep, before descriptors are used,
 * epolls_intact() asks the kernel whether our numbers still mean our files. If not, the server ends
 * and leaves open what is now the application's.
 */
#include "httpd.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "relay.h"
#include "ancestors.h"
#include "takeover.h"
#include "rundir.h"
#include "library/library.h"
#include "server.h"

enum { OPENING_MS = 2000, OPENING_STEP_MS = 20 };

struct mw_server mw_server = {
	.epfd = -1, .evfd = -1, .mhd_epfd = -1, .statm = { .fd = -1 }, .smaps = { .fd = -1 }
};

/*
 * The first move takes some 10 ms, while the kernel enlarges the descriptor table. Meanwhile the
 * application may have closed `fd` and opened its own file there, which isn't ours to close.
 */
int mw_fd_high(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, mw_server.fd_base);
	struct stat a, b;

	if (high < 0)
		return fd;
	if (!fstat(high, &a) && !fstat(fd, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		close(fd);
	return high;
}

static void set_state(enum mw_server_state s)
{
	atomic_store(&mw_server.state, (int)s);
	syscall(SYS_futex, &mw_server.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * Connections take at most an eighth of what the application may open. Our numbers lie above 1023,
 * which select(2) in the application can't use, or in the upper half of a smaller range.
 */
static void set_limits(void)
{
	struct rlimit rl = { .rlim_cur = 1024 };
	rlim_t eighth;

	getrlimit(RLIMIT_NOFILE, &rl);
	eighth = rl.rlim_cur / 8;
	mw_server.conns_max = eighth < 4                  ? 4 :
			      eighth > MW_CONNECTIONS_MAX ? MW_CONNECTIONS_MAX :
							    (unsigned)eighth;
	mw_server.fd_base = rl.rlim_cur / 2 > 1024 ? 1024 : (int)(rl.rlim_cur / 2);
}

static int epoll_add(int epfd, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev);
}

int mw_loop_watch(struct mw_listener *l)
{
	return epoll_add(mw_server.epfd, l->fd, EPOLLIN, l);
}

/* The kernel finds the eventfd in both epolls only if all three descriptors are unchanged. */
static bool epolls_intact(void)
{
	struct epoll_event in = { .events = EPOLLIN, .data.ptr = &mw_server.evfd };
	struct epoll_event none = { .events = 0 };

	return !epoll_ctl(mw_server.epfd, EPOLL_CTL_MOD, mw_server.evfd, &in) &&
	       (!mw_server.daemon || !epoll_ctl(mw_server.mhd_epfd, EPOLL_CTL_MOD, mw_server.evfd, &none));
}

static int open_loop(char err[MW_ERROR_MAX])
{
	int ret;

	mw_server.epfd = mw_fd_high(epoll_create1(EPOLL_CLOEXEC));
	mw_server.evfd = mw_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (mw_server.epfd < 0 || mw_server.evfd < 0) {
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be created: %s",
			 mw_sys_error(errno));
		return -1;
	}
	mw_proc_open(&mw_server.statm, "/proc/self/statm", mw_server.fd_base);
	mw_proc_open(&mw_server.smaps, "/proc/self/smaps", mw_server.fd_base);
	ret = epoll_add(mw_server.epfd, mw_server.evfd, EPOLLIN, &mw_server.evfd);
	for (unsigned i = 0; !ret && i < mw_server.listeners_n; i++)
		ret = mw_loop_watch(&mw_server.listeners[i]);
	if (ret)
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be watched: %s",
			 mw_sys_error(errno));
	return ret ? -1 : 0;
}

static void close_fd(_Atomic int *fd)
{
	int n = atomic_exchange(fd, -1);

	if (n >= 0)
		close(n);
}

/*
 * Removes files first: no client shall find a socket that doesn't answer. If not `intact`, closes
 * only what is provably ours, and leaves the daemon as it is.
 */
static void close_all(bool intact)
{
	mw_moves_begin();
	(void)mw_opening_begin(); /* the process's end waits for this, too */
	if (intact)
		mw_takeover_sweep();
	mw_takeover_end();
	mw_listen_unlink();
	if (intact)
		mw_rundir_sweep();
	mw_opening_end();
	if (intact && mw_server.daemon) {
		mw_live_close();
		mw_relay_close();
		mw_mhd->stop_daemon(mw_server.daemon);
	}
	mw_live_reset();
	mw_linger_close();
	mw_proc_close(&mw_server.statm);
	mw_proc_close(&mw_server.smaps);
	mw_server.daemon = NULL;
	mw_server.mhd_epfd = -1;
	for (unsigned i = 0; i < mw_server.listeners_n; i++) {
		struct mw_listener *l = &mw_server.listeners[i];

		if (l->fd >= 0 && mw_listen_is_ours(l->fd))
			close(l->fd);
		l->fd = -1;
		l->addr_len = 0;
		mw_socket_lock_drop(&l->socket_lock);
	}
	if (intact) {
		close_fd(&mw_server.epfd);
		close_fd(&mw_server.evfd);
	}
	atomic_store(&mw_server.epfd, -1);
	atomic_store(&mw_server.evfd, -1);
	mw_server.listeners_n = 0;
	mw_connections_reset();
	mw_moves_end();
}

/* from start(); NULL after its call */
static void (*tell_opened)(void);

static void opened(void)
{
	if (tell_opened)
		tell_opened();
	tell_opened = NULL;
}

/* In our use, libmicrohttpd can't go on and would abort(): end the server, not the process. */
static void park(const char *file, unsigned line, const char *why)
{
	mw_log("libmicrohttpd: gave up (%s:%u: %.*s): the server is off", file, line,
	       (int)strcspn(why, "\n"), why);
	close_all(false);
	opened();
	set_state(MW_SERVER_PARKED);
	for (;;)
		pause();
}

/*
 * The handler of the whole process. Panics of the application's own use of the library go on to the
 * application's handler; without one, abort() follows as before.
 */
static void panic(void *unused, const char *file, unsigned line, const char *why)
{
	(void)unused;
	if (atomic_load(&mw_server.tid) == (pid_t)syscall(SYS_gettid)) {
		park(file ? file : "?", line, why ? why : "no reason given");
	} else if (!mw_server.api->panic_pass || !mw_server.api->panic_pass(file, line, why)) {
		fprintf(stderr, "Fatal error in GNU libmicrohttpd %s:%u: %s\n", file, line, why);
		abort();
	}
}

/* By its name alone, MHD_set_panic_func would be the tracker's. */
static void take_panics(const struct mw_api *api)
{
	void (*set)(mw_panic_fn, void *) = NULL;
	Dl_info me;
	void *lib;

	/* never closed: this library needs it as long as the process lives */
	if (dladdr((void *)(uintptr_t)mw_mhd->start_daemon, &me) && me.dli_fname &&
	    (lib = dlopen(me.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		set = (void (*)(mw_panic_fn, void *))dlsym(lib, "MHD_set_panic_func");
	if (set && api->panic_take)
		api->panic_take(set, panic);
	else if (set)
		set(panic, NULL);
}

const struct mw_mhd *mw_mhd;

static int load_library(char err[MW_ERROR_MAX])
{
	void *lib = mw_mhd ? NULL : mw_server.api->load("libmwrap_mhd.so", err);

	if (lib) {
		const struct mw_mhd *table = dlsym(lib, "mwrap_mhd");

		if (!table || table->size != sizeof(*table)) {
			snprintf(err, MW_ERROR_MAX,
				 "libmwrap_mhd.so: of another version: start this process again");
			return -1;
		}
		mw_mhd = table;
		take_panics(mw_server.api);
	}
	return mw_mhd ? 0 : -1;
}

static int start_daemon(char err[MW_ERROR_MAX])
{
	const union MHD_DaemonInfo *info;

	mw_server.daemon = mw_serve_open();
	info = mw_server.daemon ? mw_mhd->get_daemon_info(mw_server.daemon, MHD_DAEMON_INFO_EPOLL_FD) :
				  NULL;
	if (!info) {
		snprintf(err, MW_ERROR_MAX, "libmicrohttpd %s: can't start a server",
			 mw_mhd->get_version());
		return -1;
	}
	mw_server.mhd_epfd = info->epoll_fd;
	if (epoll_add(mw_server.epfd, mw_server.mhd_epfd, EPOLLIN, &mw_server.mhd_epfd) ||
	    epoll_add(mw_server.mhd_epfd, mw_server.evfd, 0, NULL)) { /* for epolls_intact() */
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be watched: %s",
			 mw_sys_error(errno));
		mw_mhd->stop_daemon(mw_server.daemon);
		mw_server.daemon = NULL;
		mw_server.mhd_epfd = -1;
		return -1;
	}
	return 0;
}

int mw_serve_begin(char err[MW_ERROR_MAX])
{
	int ret;

	if (mw_server.daemon)
		return 0;
	mw_moves_begin();
	ret = load_library(err) || start_daemon(err) ? -1 : 0;
	mw_moves_end();
	return ret;
}

/* second: ms until the next point of the history */
static int timeout_ms(uint64_t now, unsigned second)
{
	MHD_UNSIGNED_LONG_LONG mhd;
	int ms = mw_connections_expire(now), live = mw_live_due(now), linger = mw_linger_due(now);

	if (ms < 0 || second < (unsigned)ms)
		ms = (int)second;
	if (live >= 0 && live < ms)
		ms = live;
	if (linger >= 0 && linger < ms)
		ms = linger;
	if (mw_server.daemon && mw_mhd->get_timeout(mw_server.daemon, &mhd) == MHD_YES &&
	    mhd < (unsigned)ms)
		ms = (int)mhd;
	return ms;
}

enum { EVENTS = MW_LISTENERS_MAX + 2 + MW_WATCHERS_MAX + MW_LINGERS_MAX };

/* Empties the eventfd; the loop looks at everything anyway. */
static void drain(void)
{
	uint64_t n;

	if (read(mw_server.evfd, &n, sizeof(n)) < 0)
		return; /* it was empty */
}

/* Dispatches an event of ours: about a listener, a connection, a linger or the eventfd. */
static void dispatch(void *about, uint64_t now)
{
	struct mw_listener *l = about;
	struct mw_conn *c = about;

	if (l >= mw_server.listeners && l < mw_server.listeners + MW_LISTENERS_MAX)
		mw_connections_accept(l, now);
	else if (c >= mw_server.conns && c < mw_server.conns + MW_CONNECTIONS_MAX) {
		mw_live_hangup(c);
		mw_relay_hangup(c);
	} else if (about == &mw_server.evfd) {
		drain();
	} else {
		mw_linger_event(about, now);
	}
}

/* Returns 0 when asked to stop; -1 if our descriptors are no longer ours. */
static int loop(void)
{
	struct epoll_event ev[EVENTS];

	while (!atomic_load(&mw_server.stop_asked)) {
		unsigned second = mw_site_second(&mw_server.site, &mw_server.statm, &mw_server.smaps);
		uint64_t now = mw_now_ms();
		int look = mw_takeover_look(now);
		int n = epoll_wait(
			mw_server.epfd, ev, EVENTS,
			timeout_ms(now, look >= 0 && (unsigned)look < second ? (unsigned)look : second));

		if ((n < 0 && errno != EINTR) || !epolls_intact())
			return -1;
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
		if (!mw_server.daemon)
			continue;
		mw_moves_begin();
		mw_mhd->run(mw_server.daemon);
		mw_moves_end();
	}
	return 0;
}

static bool open_listeners(const struct mw_options *o, char err[MW_ERROR_MAX])
{
	mw_token_start(o);
	if (!mw_listen_all(o, err))
		return false;
	if (mw_token_wrong() && !o->listen && !mw_ancestor_served()) /* `listen` told it */
		mw_log("%s. Every request is refused until this is right", mw_token_wrong());
	return true;
}

static int start(const struct mw_api *api, void (*tell)(void), char err[MW_ERROR_MAX])
{
	int was = atomic_load(&mw_server.state), ret = -1;
	bool intact = true;

	if (was == MW_SERVER_RUNNING || was == MW_SERVER_PARKED ||
	    !atomic_compare_exchange_strong(&mw_server.state, &was, MW_SERVER_RUNNING)) {
		snprintf(err, MW_ERROR_MAX, "the server: running already");
		tell();
		return -1;
	}
	tell_opened = tell;
	mw_exit_verdict_reset();
	mw_server.api = api;
	mw_server.pid = getpid();
	atomic_store(&mw_server.tid, (pid_t)syscall(SYS_gettid));
	mw_connections_reset();
	mw_linger_reset();
	set_limits();
	mw_site_start(&mw_server.site, api);
	mw_moves_begin();
	if (!mw_opening_begin()) {
		ret = 0;
	} else if (open_listeners(api->options(), err) && !open_loop(err)) {
		mw_opening_end();
		mw_moves_end();
		/* before any child can be forked and requests the path from a shell first */
		(void)mw_takeover_look(mw_now_ms());
		opened();
		mw_endpoint_tell();
		ret = loop();
		intact = !ret && epolls_intact();
		if (ret && atomic_load(&mw_server.stop_asked))
			ret = 0; /* it was to stop anyway */
		if (ret)
			snprintf(err, MW_ERROR_MAX,
				 "the server: off: the application closed its descriptors");
	}
	if (ret && !err[0])
		ret = 0; /* an ancestor has logged it */
	opened();
	mw_endpoint_end();
	close_all(intact);
	/* after the sockets: exit waits only so long. If the server ends before the process, it can't know */
	if (atomic_load(&mw_server.stop_asked))
		mw_exit_verdict_keep(&mw_server.site);
	mw_site_end(&mw_server.site);
	mw_access_forget(&mw_server.access);
	mw_opening_end();
	atomic_store(&mw_server.tid, 0); /* the number may soon be another thread's */
	set_state(MW_SERVER_ENDED);
	return ret;
}

static void stop(void)
{
	struct epoll_event in = { .events = EPOLLIN, .data.ptr = &mw_server.evfd };
	const uint64_t one = 1;
	int evfd, saved = errno;

	atomic_store(&mw_server.stop_asked, true);
	evfd = mw_server.evfd;
	/* never into a file of the application's that has the number now */
	if (evfd >= 0 && !epoll_ctl(mw_server.epfd, EPOLL_CTL_MOD, evfd, &in) &&
	    write(evfd, &one, sizeof(one)) < 0)
		errno = saved; /* the counter is full: it wakes anyway */
	errno = saved;
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
			mw_listen_unlink();
			mw_rundir_remove();
			return false;
		}
		syscall(SYS_futex, &mw_server.state, FUTEX_WAIT_PRIVATE, s, &ts, NULL, 0);
	}
}

const struct mw_httpd_api mwrap_httpd = {
	.version = MW_HTTPD_VERSION,
	.start = start,
	.stop = stop,
	.wait_stopped = wait_stopped,
	.before_fork = mw_child_before_fork,
	.child_after_fork = mw_child_after_fork,
	.endpoint = mw_endpoint_get,
	.exit_verdict = mw_exit_verdict,
};
