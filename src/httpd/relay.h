/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apart.h - requests that are answered in a thread of their own, since other
 * processes are asked for it (src/family): nobody else waits meanwhile.
 *
 * The connection is suspended until the answer is there. The thread has a
 * table of descriptors of its own, so a child that the application forks
 * meanwhile gets none of the sockets that it opened; it wakes the loop by
 * the eventfd, which is all that it keeps. Where the kernel can't do that
 * (before Linux 5.9) it shares the table, wakes nobody, and the loop looks once a second.
 *
 * A job is owned by both, its request and its thread; the last one frees it. A
 * thread ends by itself, in MW_FAMILY_MS or MW_RELAY_MS and a little, or, while it passes
 * on a stream, within a second after its client has gone.
 *
 * All calls: the server's thread, but for mw_relay_reset (a forked child).
 */
#ifndef MW_HTTPD_APART_H
#define MW_HTTPD_APART_H

#include "server.h"

struct mw_job;

#define MW_JOBS_MAX 16u

/*
 * Suspends the connection and begins. Headers are copied; `req` need not live on.
 * NULL: too many are under way, or no memory, and nothing is suspended.
 */
struct mw_job *mw_relay_begin(struct MHD_Connection *, struct mw_conn *, const struct mw_request *);

/* Its answer, once; NULL while there is none, and after that. The job keeps it. */
struct mw_response *mw_relay_response(struct mw_job *);

/* The body of a response that is a stream. NULL: no memory. */
struct MHD_Response *mw_relay_stream(struct mw_job *);

/* The request is over. */
void mw_relay_end(struct mw_job *);

/* Resumes those whose answer is there, before MHD_run(). */
void mw_relay_run(void);
/* The other end of a connection may be closed. */
void mw_relay_hangup(struct mw_conn *);
/* Does this connection wait for another process? */
bool mw_relay_waits(const struct mw_conn *);
/* Resumes all, before MHD_stop_daemon(). */
void mw_relay_close(void);
/* Forgets all, whose threads are gone: a forked child. */
void mw_relay_reset(void);

#endif
