/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay.h - answers a request that needs other processes (src/server/family), or that waits or takes long
 * (mw_route_waits), in a thread of its own: no other request waits for them.
 *
 * The connection is suspended until the answer is there. The thread has its own descriptor table: a
 * child that the application forks meanwhile inherits none of its sockets. The thread keeps only
 * the eventfd, and wakes the loop by it. Where the kernel can't do that (before Linux 5.9), the
 * thread shares the table and wakes nobody; the loop looks once a second.
 *
 * A job has two owners, its request and its thread; the last one frees it. A thread ends by itself
 * after MW_FAMILY_MS or MW_RELAY_MS and a little, or when src/server/holders gives up waiting. While it
 * relays a stream, it ends within a second after its client has gone.
 *
 * All calls: the server's thread, except mw_relay_reset (a forked child).
 */
#pragma once

#include <stdbool.h>

#include "connections.h"
#include "server/pages/routes.h"

struct MHD_Connection;
struct MHD_Response;

struct mw_job;

#define MW_JOBS_MAX 16u

/*
 * Suspends the connection and begins. Copies the headers; `req` need not live on. Returns NULL if
 * too many are under way, or without memory; then the connection isn't suspended.
 */
struct mw_job *mw_relay_begin(struct MHD_Connection *, struct mw_conn *, const struct mw_request *);

/*
 * Returns the job's answer once; NULL before it is there, and after that. The job keeps owning it.
 */
struct mw_response *mw_relay_response(struct mw_job *);

/* The body of a response that is a stream. NULL: no memory. */
struct MHD_Response *mw_relay_stream(struct mw_job *);

/* The request is over. */
void mw_relay_end(struct mw_job *);

/* Resumes connections that have an answer, before MHD_run(). */
void mw_relay_run(void);
/* The client of this connection may have closed it. */
void mw_relay_hangup(struct mw_conn *);
/* Does this connection wait for another process? */
bool mw_relay_waits(const struct mw_conn *);
/* Resumes all, before MHD_stop_daemon(). */
void mw_relay_close(void);
/* In a forked child: forgets all jobs; their threads don't exist here. */
void mw_relay_reset(void);
