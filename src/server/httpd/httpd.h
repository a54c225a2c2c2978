/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * httpd.h - libmwrap_httpd.so's offer to the tracker. Its offer to the extension: server/offers/offers.h.
 *
 * The tracker dlopen()s the library when an option asks for a server. It looks up `mwrap_httpd` and
 * runs start() in a thread made for this: all signals blocked, in quiet mode, 256 KiB of stack or
 * more. One server runs per process. Its state is static: a forked child can find and close what it
 * inherited without a lock or an allocation.
 *
 *	tracker's thread:  start()  .... serves ....  returns
 *	any thread:       wake(), and     stop(), then wait_stopped()
 *	fork:              before_fork(), child_after_fork(), then start() in a new thread
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "shared/options/options.h"

#define MW_HTTPD_VERSION 8u

enum mw_httpd_is { MW_HTTPD_FAILED = -1, MW_HTTPD_ENDED, MW_HTTPD_LEFT };

struct mw_httpd_api {
	uint32_t version; /* MW_HTTPD_VERSION */

	/*
	 * Opens what the options `socket`, `socket_dir` and `listen` name and serves in the calling
	 * thread until stop(). It reports each one that can't be opened in a line on stderr, and
	 * serves the others. Returns MW_HTTPD_ENDED after stop(), and MW_HTTPD_FAILED with one line in err (without
	 * "mwrap: ") if nothing could be opened, if a server is running already, or if the
	 * application closed the server's descriptors. It leaves nothing behind then. If mw_api.leaving() says so,
	 * it returns MW_HTTPD_LEFT, with all open: a call in another thread goes on, and lets in whoever connected
	 * meanwhile. After
	 * a panic of libmicrohttpd it never returns: the thread is parked. It always calls
	 * opened(), as soon as nothing more is opened or can be. A child forked before that may
	 * keep a socket that gets its address only later, and would seem to listen.
	 */
	int (*start)(const struct mw_api *, void (*opened)(void), char err[MW_ERROR_MAX]);

	/* Ends the loop's sleep: it looks at mw_api.leaving(). Any thread. */
	void (*wake)(void);

	/*
	 * Asks the loop to end and returns at once. Before start() it makes start() end as soon as
	 * it begins. Any thread, no signal handler.
	 */
	void (*stop)(void);

	/*
	 * Waits until start() has returned, ms milliseconds at most. Returns true if it has, or was
	 * never called. Otherwise returns false: this call has removed the socket files, the thread
	 * is stuck, and the process may end now.
	 */
	bool (*wait_stopped)(unsigned ms);

	/* Right before a fork, in the forking thread. The result is for child_after_fork(). */
	uint32_t (*before_fork)(void);

	/*
	 * In a forked child, before any other call of the server. Takes what before_fork() returned
	 * to this thread, 1 if it wasn't called. Closes every inherited descriptor of the parent's
	 * server; leaves the parent's sockets, clients and files alone. System calls only; errno is
	 * kept. Afterwards start() may be called. Some memory of the parent's daemon stays unused
	 * in the child.
	 */
	void (*child_after_fork)(uint32_t moves);

	/* See mw_api.server_endpoint. Any thread. */
	bool (*endpoint)(struct mw_family *);

	/*
	 * As mw_api.server_site: true if it was taken. False: not in time, or the server doesn't run,
	 * or not yet. Any thread.
	 */
	bool (*site)(struct mw_site **, unsigned ms);
	void (*site_give)(void);
	/* True if start() never returns: see there. Any thread. */
	bool (*parked)(void);

	/*
	 * After wait_stopped(): the last verdict, a sentence in one line, if the exit dump is one for
	 * it (text). NULL: there is none, since the process was too young, or the thread is stuck or
	 * parked. The thread wrote it before it ended, so it needs no lock, and no library that may
	 * be gone. The memory is static.
	 */
	const char *(*exit_verdict)(void);
};

extern const struct mw_httpd_api mwrap_httpd __attribute__((visibility("default")));
