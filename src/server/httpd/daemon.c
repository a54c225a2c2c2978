/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon.c - starts and stops libmicrohttpd's daemon. See daemon.h. */
#include "daemon.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "server/httpd/library/library.h"
#include "listeners.h"
#include "load_mhd.h"
#include "loop.h"
#include "mhd.h"
#include "server_state.h"

static struct MHD_Daemon *mhd; /* NULL: no client has come yet */
static int epfd = -1; /* libmicrohttpd's, of connections */

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
	ret = mw_mhd_load(err) || start_mhd(err) ? -1 : 0;
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
