/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * urcu.c MODE - a program that uses liburcu itself. Built once for each flavour:
 * urcu_bp, urcu_memb, urcu_mb, urcu_qsbr.
 *
 * fork:    follows liburcu's recipe for fork, by pthread_atfork, and forks twenty times
 *          beside a call_rcu thread; the children allocate, and wait for a grace period
 * section: allocates at 200,000 places inside one read-side section, twice, while
 *          another thread waits for it to end
 * tables:  makes and destroys hash tables in four threads
 * beside:  does the same while call_rcu frees 50,000 blocks, and grace periods are waited for
 */
#if defined(FLAVOUR_bp)
#include <urcu-bp.h>
#elif defined(FLAVOUR_memb)
#define RCU_MEMBARRIER
#include <urcu.h>
#elif defined(FLAVOUR_mb)
#define RCU_MB
#include <urcu.h>
#elif defined(FLAVOUR_qsbr)
#include <urcu-qsbr.h>
#endif
#include <sys/wait.h>
#include <urcu/rculfhash.h>

#include "../lib/site.h"
#include "../lib/stubs.h"

enum { PLACES = 200000, FREED = 50000, FORKS = 20 };

MALLOC_SITE(parents);
MALLOC_SITE(childs);
MALLOC_SITE(deferred);

struct later {
	struct rcu_head head;
	char rest[40];
};

static unsigned freed; /* relaxed */

static void free_later(struct rcu_head *head)
{
	free(caa_container_of(head, struct later, head));
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

static void defer_one(void)
{
	struct later *l = deferred(sizeof(*l));

	call_rcu(&l->head, free_later);
}

/* Deferred blocks are freed once nobody reads: qsbr's threads say so themselves. */
static void until_freed(unsigned n)
{
	rcu_thread_offline();
	while (__atomic_load_n(&freed, __ATOMIC_RELAXED) < n)
		usleep(1000);
	rcu_thread_online();
}

/* --- fork ----------------------------------------------------------------------------- */

static void before(void)
{
	call_rcu_before_fork();
#ifdef FLAVOUR_bp
	urcu_bp_before_fork();
#endif
}

static void parent(void)
{
#ifdef FLAVOUR_bp
	urcu_bp_after_fork_parent();
#endif
	call_rcu_after_fork_parent();
}

static void child(void)
{
#ifdef FLAVOUR_bp
	urcu_bp_after_fork_child();
#endif
	call_rcu_after_fork_child();
}

static void forks(void)
{
	if (pthread_atfork(before, parent, child))
		exit(1);
	defer_one();
	for (int i = 0; i < FORKS; i++) {
		int status = -1;
		pid_t pid;

		free(parents(100));
		rcu_thread_offline(); /* qsbr: call_rcu's thread waits for this one, and fork for that */
		pid = fork();
		rcu_thread_online();
		if (pid == 0) {
			free(childs(50));
			synchronize_rcu();
			expect_child("childs", (struct expected){ 1, 1, 50, 0, 0, 0 });
			exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			say("NOT OK a child ended with %d\n", status);
	}
	until_freed(1);
	expect("parents", FORKS, FORKS, 100 * FORKS, 0);
	expect("deferred", 1, 1, sizeof(struct later), 0);
}

/* --- section, beside ---------------------------------------------------------------------- */

static bool in_section, over;

/* Waits for the section to end, again and again. */
static void *waiter(void *arg)
{
	rcu_register_thread();
	while (!__atomic_load_n(&in_section, __ATOMIC_ACQUIRE))
		usleep(1000);
	do
		synchronize_rcu();
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE));
	rcu_unregister_thread();
	return arg;
}

static void sections(bool defer)
{
	unsigned wanted = 0;
	pthread_t t;

	if (!make_stubs(PLACES) || pthread_create(&t, NULL, waiter, NULL))
		exit(1);
	for (int round = 0; round < 2; round++) {
		rcu_read_lock();
		__atomic_store_n(&in_section, true, __ATOMIC_RELEASE);
		for (size_t i = 0; i < PLACES; i++) {
			free(call_stub(i, 24));
			if (defer && i % (2 * PLACES / FREED) == 0) {
				defer_one();
				wanted++;
			}
		}
		rcu_read_unlock();
		rcu_quiescent_state(); /* qsbr: only here does the section end */
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	rcu_thread_offline();
	pthread_join(t, NULL);
	rcu_thread_online();
	until_freed(wanted);
	free(parents(100));
	expect("parents", 1, 1, 100, 0);
	if (defer)
		expect("deferred", wanted, wanted, wanted * sizeof(struct later), 0);
}

static void *make_tables(void *arg)
{
	rcu_register_thread();
	for (unsigned i = 0; i < 200; i++) {
		struct cds_lfht *table = cds_lfht_new(64, 64, i % 2 ? 1 << 16 : 64, 0, NULL);

		if (!table || cds_lfht_destroy(table, NULL))
			printf("NOT OK table %u\n", i);
	}
	rcu_unregister_thread();
	return arg;
}

static void tables(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, make_tables, NULL);
	rcu_thread_offline();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	rcu_thread_online();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	rcu_register_thread();
	if (!strcmp(mode, "fork"))
		forks();
	else if (!strcmp(mode, "tables"))
		tables();
	else
		sections(!strcmp(mode, "beside"));
	rcu_unregister_thread();
	return 0;
}
