/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * after_fork.c - lets go of the parent's server in a forked child.
 *
 * A child that kept the listening socket or a client's connection open would make a dead parent
 * look alive. The state may be half-updated; server_state.h has the rules that make this work. The child
 * of a threaded process may make only async-signal-safe calls: no malloc, no stdio, no lock.
 */
#include "after_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "connections.h"
#include "daemon.h"
#include "endpoint.h"
#include "exit_verdict.h"
#include "linger.h"
#include "listeners.h"
#include "live.h"
#include "loop.h"
#include "own_site.h"
#include "prover.h"
#include "relay.h"
#include "server/reports/reports.h"
#include "server_state.h"
#include "takeover.h"
#include "token.h"

struct dirent_head { /* as getdents64 writes it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void close_if_ours(int fd)
{
	if (fd >= 0 && (mw_listeners_own(fd) || mw_token_is_ours(fd)))
		close(fd);
}

static int descriptor_number(const char *s)
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
static void search_descriptors(void)
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

			close_if_ours(descriptor_number(buf + at + offsetof(struct dirent_head, name)));
			at += d->len;
		}
	}
	close(dir);
}

static void close_inherited(uint32_t moves)
{
	/* each is known to be the parent's while the loop's eventfd is in it: ask before any is closed */
	bool daemon = mw_daemon_ours(), loop = mw_loop_ours();

	if (moves & 1 || atomic_load(&mw_server.moves) != moves)
		search_descriptors();
	mw_connections_inherited(close_if_ours);
	mw_linger_inherited(close_if_ours);
	mw_listeners_inherited(close_if_ours);
	mw_own_site_close();
	if (daemon)
		mw_daemon_inherited();
	if (loop)
		mw_loop_inherited();
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
	mw_server.left = false;
	mw_token_forget();
	mw_endpoint_child();
	mw_daemon_forget();
	mw_loop_forget();
	mw_listeners_child();
	mw_own_site_child();
	mw_connections_reset();
	mw_linger_reset();
	mw_live_reset();
	mw_relay_reset();
	mw_prover_reset();
	mw_reports_child();
	mw_takeover_child();
	mw_exit_verdict_reset();
	atomic_store(&mw_server.moves, 0);
	atomic_store(&mw_server.stop_asked, false);
	mw_opening_end();
	atomic_store(&mw_server.state, MW_SERVER_NONE);
	errno = saved;
}
