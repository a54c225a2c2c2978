/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * httpd.h - the one symbol of libmwrap_httpd.so.
 *
 * The tracker dlopen()s the library when an option asks for a server, looks
 * up `mwrap_httpd`, and runs start() in a thread that it made for this: all
 * signals blocked, in quiet mode, 256 KiB of stack or more. One server per
 * process; the state is static, so that a forked child can find and close
 * what it inherited without a lock or an allocation.
 *
 *	tracker's thread:  start()  .... serves ....  returns
 *	any thread:                       stop(), then wait_stopped()
 *	fork:              before_fork(), child_after_fork(), then start() in a new thread
 */
#ifndef MW_HTTPD_HTTPD_H
#define MW_HTTPD_HTTPD_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "options/options.h"

#define MW_HTTPD_VERSION 5u

struct mw_httpd_api {
	uint32_t version; /* MW_HTTPD_VERSION */

	/*
	 * Opens what the options `socket`, `socket_dir` and `listen` name and
	 * serves in the calling thread until stop(). One that can't be opened
	 * is reported on stderr in a line and the others are served. Returns 0
	 * after stop(); -1 with one line in err (without "mwrap: ") if nothing
	 * could be opened, if a server is running already, or if the
	 * application closed the server's descriptors. Nothing is left behind
	 * in any case. After a panic of libmicrohttpd it never returns: the
	 * thread is parked. opened() is called as soon as no more is opened, or
	 * can't be, in any case: a child that is forked before that may keep a socket that
	 * gets its address only then, and would seem to listen.
	 */
	int (*start)(const struct mw_api *, void (*opened)(void), char err[MW_ERROR_MAX]);

	/*
	 * Asks the loop to end and returns at once; also before start(), which
	 * then ends as soon as it begins. Any thread, no signal handler.
	 */
	void (*stop)(void);

	/*
	 * Waits until start() has returned, ms milliseconds at most. True if it
	 * has, or was never called. Otherwise false, and the socket files have
	 * been removed by this call: the thread is stuck and the process may
	 * end now.
	 */
	bool (*wait_stopped)(unsigned ms);

	/* Right before a fork, in the thread that forks; for child_after_fork(). */
	uint32_t (*before_fork)(void);

	/*
	 * In a forked child, before anything else of the server's, with what
	 * before_fork() returned to this thread (1 if nobody asked): closes every
	 * inherited descriptor of the parent's server. The parent's sockets,
	 * clients and files are not touched. System calls only; errno is kept.
	 * Afterwards start() may be called. Some memory of the parent's
	 * daemon stays unused in the child.
	 */
	void (*child_after_fork)(uint32_t moves);

	/* See mw_api.server_endpoint. Any thread. */
	bool (*place)(struct mw_server_endpoint *);
};

extern const struct mw_httpd_api mwrap_httpd __attribute__((visibility("default")));

#endif
