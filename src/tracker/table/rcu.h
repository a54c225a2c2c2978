/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rcu.h - the tracker's own RCU domain, and liburcu's hash tables in it.
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

#include <urcu/rculfhash.h>

/* A read-side section. Any thread, also in a signal handler. */
void mw_rcu_enter(void);
void mw_rcu_leave(void);
bool mw_rcu_reading(void); /* is the calling thread in one? */

/*
 * One grace period at a time; its caller holds mw_maintenance (callsite.h). mw_grace_over is true
 * once every section that began before mw_grace_begin() has ended. Those readers' accesses come
 * before the caller's next ones. Both return at once.
 */
void mw_grace_begin(void);
bool mw_grace_over(void);

/* In a forked child: keeps only the calling thread's sections. */
void mw_rcu_after_fork(void);

/*
 * A hash table of liburcu's in that domain, with room for `first` buckets, and for `most` after cds_lfht_resize (powers
 * of 2). Once for each table, in one thread, at load. NULL: no memory; it may also abort(), see mw_memory_is_there.
 */
struct cds_lfht *mw_rcu_table(unsigned long first, unsigned long most);
/* Is there memory now for these tables, their buckets and liburcu's registry? Without memory liburcu abort()s. */
bool mw_memory_is_there(void);
