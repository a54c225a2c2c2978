/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h - the tracker in the life of its process: load, fork, exit.
 *
 * At load (constructor): set up, read $MWRAP, look for Ruby, start what an
 * option asks for. At fork: see fork.c for the locks. At exit our threads
 * end before any library's destructor, since they call into libraries; the dump is
 * written as late as can be: after every destructor, by a handler that ours
 * registers when all others have run.
 */
#ifndef MW_HOST_PROCESS_H
#define MW_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "api.h"
#include "options/options.h"

extern struct mw_options mw_options; /* read-only after load */
extern const struct mw_api mwrap_api;
extern struct timespec mw_loaded_at; /* CLOCK_MONOTONIC */
extern uint64_t mw_resets;           /* relaxed */
extern pid_t mw_forker;              /* who forked this process; 0: it was exec'ed */
extern pid_t mw_eldest;              /* the first of those forks' line; 0: this one */

/* fork.c: sees every fork from here on. False: no memory for that; children may count wrongly. */
bool mw_fork_init(void);

/*
 * exit.c. By a thread of ours that begins its work, within a step (own_thread.h), since it takes a
 * lock of the C library's: from now on exit(3) ends them all before it calls destructors.
 * A handler that was registered before main would come after these.
 */
void mw_end_before_destructors(void);

/*
 * server.c. start: makes the thread that will load and run the server, if an
 * option asks for one; it waits until Ruby is up, or 100 ms. go: Ruby is up.
 * Both return at once. Fork: before/parent/child around the real call; before waits
 * until that time of CLOCK_MONOTONIC at most.
 */
void mw_server_start(void);
void mw_server_go(void);
/* See mw_api.server_endpoint. */
bool mw_server_endpoint(struct mw_server_endpoint *);
void mw_server_before_fork(const struct timespec *until);
void mw_server_after_fork(int child);
/* Asks it to remove its socket and waits for that: 200 ms, and two seconds if a file is just being made. */
void mw_server_end(void);

/*
 * dumper.c, the same for the thread of the periodic dumps. start: if there is
 * to be one, and Ruby, if there is one, is up. start_child: after fork
 * returned in the child. end: true if nothing is being written, waited for
 * 200 ms at most; none begins after it.
 */
void mw_dumper_start(void);
void mw_dumper_start_child(void);
void mw_dumper_before_fork(const struct timespec *until);
void mw_dumper_after_fork(int child);
bool mw_dumper_end(void);

#endif
