/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rcu.h - the tracker's own RCU domain, as a flavour for liburcu's hash tables.
 *
 * An app may use liburcu itself, in any flavour. It may allocate inside a read-side section, hold
 * liburcu's locks across a fork, or block for ever in a callback. So nothing here is shared with
 * the app, and nothing here waits.
 *
 * Readers of the tables are few: pages, Ruby's API, the exit dump. They count themselves in one
 * of two shared counters. A section takes no memory, needs no registration and may be nested.
 * Threads inside the tracker (shard.h: busy) need no section: retire.c checks for them first.
 *
 * A grace period begins, and a later call asks if it is over: it ends once each counter was seen
 * at zero. Readers that come meanwhile use the other counter.
 */
#pragma once

#include <stdbool.h>

#include <urcu/flavor.h>
#include <urcu/rculfhash.h>

/* A read-side section. Any thread, also in a signal handler. */
void mw_rcu_enter(void);
void mw_rcu_leave(void);

/*
 * One grace period at a time; its caller holds mw_maintenance (callsite.h). mw_grace_over is true
 * once every section that began before mw_grace_begin() has ended. Those readers' accesses come
 * before the caller's next ones. Both return at once.
 */
void mw_grace_begin(void);
bool mw_grace_over(void);

/* In a forked child: keeps only the calling thread's sections. */
void mw_rcu_after_fork(void);

/* For cds_lfht_new_flavor, with flags 0. */
extern const struct rcu_flavor_struct mw_rcu_flavor;
