/* SPDX-License-Identifier: GPL-2.0-or-later */
/* life.c - modes in which threads, processes and signals come and go. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "core.h"

/* --- threads, fork, signals ----------------------------------------------------------- */

static pthread_key_t key;

static void key_ends(void *p)
{
	drop(p);
	drop(make(4));
}

static void *short_one(void *arg)
{
	pthread_setspecific(key, make(1));
	drop(arg);
	return make(2);
}

void threads(void)
{
	void *left;
	pthread_t t[8];

	pthread_key_create(&key, key_ends);
	for (int round = 0; round < 60; round++) {
		for (unsigned i = 0; i < 8; i++)
			if (pthread_create(&t[i], NULL, short_one, make(i)))
				check(false, "a thread");
		if (round % 10 == 0)
			look((unsigned)round);
		for (unsigned i = 0; i < 8; i++) {
			pthread_join(t[i], &left);
			drop(left);
		}
	}
	sums("threads", false);
}

static void *busy(void *arg)
{
	for (unsigned k = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); k++)
		drop(make(k));
	return arg;
}

/* In a child: what it does itself is counted to the byte, and it can be read. */
static int in_child(void)
{
	struct mw_stats s, then;
	struct block *b[20];

	a->stats(&s);
	for (unsigned k = 0; k < 20; k++)
		b[k] = make(k);
	look(2);
	for (unsigned k = 0; k < 20; k += 2)
		drop(b[k]);
	a->stats(&then);
	return then.allocations - s.allocations == 20 && then.frees - s.frees == 10 &&
			       then.live - s.live == 10 ?
		       0 :
		       1;
}

/* As a signal handler does that interrupts an operation of a thread without a shard. */
static void fork_late(void)
{
	uint32_t late = mw_late_enter(), ended = mw_late_enter();
	int status = -1;
	pid_t pid = app_fork();

	mw_late_leave(ended);
	mw_late_leave(late);
	if (pid == 0)
		_exit(mw_late_any() ? 1 : in_child());
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child has no late operation");
}

void forks(void)
{
	pthread_t t[2];
	int good = 0, status;
	pid_t pid;

	beneath_serial();
	for (unsigned k = 0; k < PLACES; k++)
		drop(make(k)); /* as in signals() */
	for (size_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, NULL);
	for (int i = 0; i < 40; i++) {
		beneath_lock();
		pid = app_fork();
		beneath_unlock();
		if (pid == 0)
			_exit(in_child());
		drop(make((unsigned)i));
		if (i % 8 == 0)
			look((unsigned)i);
		good += pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
	}
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	check(good == 40, "%d of 40 children counted what they did", good);
	fork_late();
	sums("the parent", false);
}

static unsigned handled;

static void handler(int sig)
{
	int e = errno;

	(void)sig;
	if (!beneath_inside()) {
		drop(make(4));
		mw_add(&handled, 1);
	}
	errno = e;
}

static void *bother(void *main_thread)
{
	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
		pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

void signals(void)
{
	pthread_t me = pthread_self(), t;
	struct sigaction sa = { .sa_handler = handler };

	sigaction(SIGUSR1, &sa, NULL);
	for (unsigned k = 0; k < PLACES; k++)
		drop(make(k)); /* the table needn't grow later: liburcu's malloc isn't ours to guard */
	pthread_create(&t, NULL, bother, &me);
	for (unsigned k = 0; mw_get(&handled) < 2000; k++) /* the test has a limit */
		drop(k % 3 ? make(k) : regrow(make(k), 100));
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	check(handled >= 2000, "the handler allocated %u times", handled);
	sums("signals", false);
}
