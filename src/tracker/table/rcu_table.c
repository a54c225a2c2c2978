/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rcu_table.c - the RCU domain as a flavour for liburcu's hash tables. */
#include "rcu.h"

#include <pthread.h>
#include <stdlib.h>
#include <urcu/flavor.h>

#include "shared/sys/atomics.h"
#include "tracker/base/arena.h"
#include "tracker/real/bind.h"

static int is_reading(void)
{
	return mw_rcu_reading();
}

static void rcu_nothing(void)
{
}

/*
 * liburcu's tables call these only if a table has flags, shrinks or is destroyed. The tracker's
 * have no flags, only grow, and stay.
 */
static void never_call(struct rcu_head *head, void (*f)(struct rcu_head *))
{
	(void)head;
	(void)f;
}

static void never_defer(void (*f)(void *), void *p)
{
	(void)f;
	(void)p;
}

static void never_at_fork(struct urcu_atfork *atfork)
{
	(void)atfork;
}

static const struct rcu_flavor_struct flavor = {
	.read_lock = mw_rcu_enter,
	.read_unlock = mw_rcu_leave,
	.read_ongoing = is_reading,
	.read_quiescent_state = rcu_nothing,
	.update_call_rcu = never_call,
	.update_synchronize_rcu = rcu_nothing,
	.update_defer_rcu = never_defer,
	.thread_offline = rcu_nothing,
	.thread_online = rcu_nothing,
	.register_thread = rcu_nothing,
	.unregister_thread = rcu_nothing,
	.barrier = rcu_nothing,
	.register_rculfhash_atfork = never_at_fork,
	.unregister_rculfhash_atfork = never_at_fork,
};

static uintptr_t maker; /* the thread that makes a table of ours; 0: none. Relaxed: a thread looks for itself */

/*
 * liburcu's calloc. liburcu abort()s if there is no memory, and the allocator beneath may refuse what the kernel would
 * give: so our tables have room of ours. They are few and small, and stay. The app's, if it uses the same liburcu, are the
 * app's: a call from there goes on as it came.
 */
static void *calloc_for_liburcu(size_t n, size_t size)
{
	static char ours[16384] __attribute__((aligned(64)));
	static size_t taken; /* the maker's */
	size_t bytes;
	void *p;

	if (mw_likely(mw_get(&maker) != (uintptr_t)pthread_self()))
		return calloc(n, size);
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	if (bytes > sizeof(ours) - taken)
		return mw_arena_map(bytes, MW_ARENA_LOCATION);
	bytes = (bytes + 63) & ~(size_t)63; /* sizeof(ours) is a multiple */
	p = ours + taken;
	taken += bytes;
	return p;
}

bool mw_memory_is_there(void)
{
	void *p = mw_arena_lend(1 << 20);

	mw_arena_return(p, 1 << 20);
	return p != NULL;
}

struct cds_lfht *mw_rcu_table(unsigned long first, unsigned long most)
{
	static bool bound;
	struct cds_lfht *table;

	if (!bound)
		mw_bind_to_libc((const void *)(uintptr_t)_cds_lfht_new, calloc_for_liburcu);
	bound = true;
	mw_set(&maker, (uintptr_t)pthread_self());
	/* no flags: either of them would start threads in the app */
	table = cds_lfht_new_flavor(first, 1, most, 0, &flavor, NULL);
	mw_set(&maker, (uintptr_t)0);
	return table;
}
