/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon.c - loads libmicrohttpd, starts and stops its daemon, takes its panics. See daemon.h. */
#include "daemon.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "server/httpd/library/library.h"
#include "listeners.h"
#include "loop.h"
#include "mhd.h"
#include "server_state.h"

const struct mw_mhd *mw_mhd;

static struct MHD_Daemon *mhd; /* NULL: no client has come yet */
static int epfd = -1; /* libmicrohttpd's, of connections */

/*
 * The handler of the whole process. Panics of the application's own use of the library go on to the
 * application's handler; without one, abort() follows as before.
 */
static void panic(void *unused, const char *file, unsigned line, const char *why)
{
	(void)unused;
	if (atomic_load(&mw_server.tid) == (pid_t)syscall(SYS_gettid)) {
		mw_server_park(file ? file : "?", line, why ? why : "no reason given");
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

static int load_library(char err[MW_ERROR_MAX])
{
	void *lib = mw_mhd ? NULL : mw_server.api->load("libmwrap_mhd.so", err);

	if (lib) {
		const struct mw_mhd *table = dlsym(lib, "mwrap_mhd");

		if (!table || table->size != sizeof(*table)) {
			snprintf(err, MW_ERROR_MAX,
				 "libmwrap_mhd.so: of another version: restart this process");
			return -1;
		}
		mw_mhd = table;
		take_panics(mw_server.api);
	}
	return mw_mhd ? 0 : -1;
}

static int start_mhd(char err[MW_ERROR_MAX])
{
	const union MHD_DaemonInfo *info;

	mhd = mw_serve_open();
	info = mhd ? mw_mhd->get_daemon_info(mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		snprintf(err, MW_ERROR_MAX, "libmicrohttpd %s: can't start a server",
			 mw_mhd->get_version());
		return -1;
	}
	epfd = info->epoll_fd;
	if (mw_loop_add(epfd, EPOLLIN, &epfd) || mw_loop_mark(epfd)) {
		snprintf(err, MW_ERROR_MAX, "the server's descriptors: can't be watched: %s",
			 mw_sys_error(errno));
		return -1;
	}
	return 0;
}

int mw_daemon_begin(char err[MW_ERROR_MAX])
{
	int ret;

	if (mhd)
		return 0;
	mw_moves_begin();
	ret = load_library(err) || start_mhd(err) ? -1 : 0;
	if (ret && mhd) {
		mw_daemon_stop();
		mw_daemon_forget();
	}
	mw_moves_end();
	return ret;
}

bool mw_daemon_runs(void)
{
	return mhd != NULL;
}

void mw_daemon_run(void)
{
	mw_mhd->run(mhd);
}

int mw_daemon_due(void)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (!mhd || mw_mhd->get_timeout(mhd, &ms) != MHD_YES)
		return -1;
	return mw_sooner(-1, ms);
}

bool mw_daemon_add(const struct mw_listener *l, int fd)
{
	return mw_mhd->add_connection(mhd, fd, (const struct sockaddr *)&l->addr, l->addr_len) == MHD_YES;
}

void mw_daemon_stop(void)
{
	mw_mhd->stop_daemon(mhd);
}

void mw_daemon_forget(void)
{
	mhd = NULL;
	epfd = -1;
}

bool mw_daemon_ours(void)
{
	return mw_loop_marked(epfd);
}

void mw_daemon_inherited(void)
{
	close(epfd);
}
