/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals.c - a handler that allocates, under a storm of signals.
 *
 * malloc may not be called from a handler that interrupted libc's malloc (it
 * would wait for its own lock), but the tracker's code around it may be
 * interrupted anywhere. The witness beneath the tracker knows when libc is at work
 * (witness_inside); natively this program knows itself, by a flag around its
 * calls. The handler allocates only where it is allowed to; how often that was
 * is not the same each time: the counts are in a line of this process alone.
 */
#include <signal.h>
#include <sys/time.h>

#include "../lib/site.h"

static bool (*inside)(void);
static volatile sig_atomic_t in_call;
static volatile uint64_t done, skipped;
static _Atomic bool stop;
static void *volatile slot;

MALLOC_SITE(by_handler);
MALLOC_SITE(by_main);

static void on_signal(int sig)
{
	(void)sig;
	int e = errno;

	if (inside ? inside() : in_call) {
		skipped++;
		return;
	}
	/* one block is handed on to the next signal */
	free(slot);
	slot = by_handler(40);
	done++;
	errno = e;
}

static void *storm(void *arg)
{
	pthread_t target = *(pthread_t *)arg;

	while (!stop) {
		pthread_kill(target, SIGUSR1);
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return NULL;
}

int main(void)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t self = pthread_self(), t;
	uint64_t i, n = 300000, bytes = 0;
	sigset_t set;

	*(void **)&inside = dlsym(RTLD_DEFAULT, "witness_inside");
	sigaddset(&sa.sa_mask, SIGALRM);
	sigaddset(&sa.sa_mask, SIGUSR1);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, storm, &self); /* it inherits the mask */
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &every, NULL);

	/* on one core a signal comes with each turn of the other thread, or of the timer; the test has a limit */
	for (i = 0; i < n || done < 2000; i++) {
		void *p;

		in_call = 1;
		p = by_main(1 + i % 100);
		in_call = 0;
		bytes += 1 + i % 100;
		in_call = 1;
		free(p);
		in_call = 0;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	stop = true;
	pthread_join(t, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	check(done >= 2000, "the handler ran often enough");
	say("# %d expect by_main %lu %lu %lu 0 0 0\n", (int)getpid(), i, i, bytes);
	say("# %d expect by_handler %lu %lu %lu 1 40 40\n", (int)getpid(), done, done - 1, 40 * done);
	say("# %lu skipped\n", skipped);
	return 0;
}
