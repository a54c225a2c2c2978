/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack.c MODE - threads with the smallest stack there may be (16 KiB, mostly).
 *
 * calls:   every call of the family, each for the first time in its thread
 * exit:    such a thread ends the process
 * fork:    such a thread forks, and its child goes on there and ends
 * signal:  a handler on the smallest alternate stack allocates
 * cancel:  threads that allocate are cancelled
 */
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include "../lib/site.h"

MALLOC_SITE(starved);
REALLOC_SITE(moved);
SITE void *zeroed(size_t n)
{
	return keep(calloc(1, n));
}
SITE void *aligned(size_t a, size_t n)
{
	return keep(memalign(a, n));
}
MALLOC_SITE(in_handler);

static void run(void *(*f)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)) ||
	    pthread_create(&t, &attr, f, arg)) {
		say("NOT OK no thread\n");
		return;
	}
	pthread_join(t, NULL);
}

static void *calls(void *arg)
{
	void *p = starved(10);

	p = moved(p, 100000);
	p = moved(p, 20);
	free(p);
	free(zeroed(30));
	free(aligned(4096, 40));
	free(aligned(64, 200000));
	malloc_usable_size(arg);
	return arg;
}

static void *ends(void *arg)
{
	(void)starved(10);
	exit(arg != NULL);
}

static void *forks(void *arg)
{
	int status = -1;
	pid_t pid;

	free(starved(10));
	pid = fork();
	if (!pid) {
		free(starved(20));
		exit(7);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		say("NOT OK the child ended with %d\n", status);
	return arg;
}

static void handler(int sig)
{
	(void)sig;
	free(in_handler(50));
	free(zeroed(60));
}

static void *signalled(void *arg)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	size_t least = (size_t)sysconf(_SC_MINSIGSTKSZ);
	stack_t s = { .ss_sp = stack, .ss_size = least + 4096 };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
	return arg;
}

static void *endless(void *arg)
{
	for (;;) {
		free(starved(100));
		pthread_testcancel();
	}
	return arg;
}

static void cancelled(void)
{
	pthread_t t[50];
	size_t i;

	for (i = 0; i < 50; i++)
		if (pthread_create(&t[i], NULL, endless, NULL))
			say("NOT OK no thread\n");
	usleep(5000);
	for (i = 0; i < 50; i++)
		pthread_cancel(t[i]);
	for (i = 0; i < 50; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 5; i++)
		(void)in_handler(10);
	expect("in_handler", 5, 0, 50, 50);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int i;

	if (!strcmp(mode, "calls")) {
		for (i = 0; i < 20; i++)
			run(calls, NULL);
		expect("starved", 20, 20, 200, 0);
		expect("moved", 40, 40, 20 * 100020, 0);
		expect("zeroed", 20, 20, 600, 0);
		expect("aligned", 40, 40, 20 * 200040, 0);
	} else if (!strcmp(mode, "exit")) {
		expect("starved", 1, 0, 10, 10);
		run(ends, NULL);
	} else if (!strcmp(mode, "fork")) {
		for (i = 0; i < 10; i++)
			run(forks, NULL);
		expect("starved", 10, 10, 100, 0);
	} else if (!strcmp(mode, "signal")) {
		run(signalled, NULL);
		expect("in_handler", 1, 1, 50, 0);
		expect("zeroed", 1, 1, 60, 0);
	} else if (!strcmp(mode, "cancel")) {
		cancelled();
	} else {
		return 2;
	}
	return 0;
}
