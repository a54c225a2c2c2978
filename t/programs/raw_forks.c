/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raw_forks.c - children that are forked past fork(3): by _Fork(3), the system call, clone(2).
 *
 * usage: raw_forks N [PATH]. Each child allocates, frees, runs a thread, forks again in the usual way, and exits. PATH:
 * waits for that file first. Prints "done" at the end.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t _Fork(void);

static char stack[64 << 10] __attribute__((aligned(16)));

static void *allocate(void *arg)
{
	for (int i = 0; i < 100; i++)
		free(malloc((size_t)i * 99));
	return arg;
}

static int live(void *unused)
{
	pthread_t t;
	pid_t pid;

	(void)unused;
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i));
	if (pthread_create(&t, NULL, allocate, NULL) == 0)
		pthread_join(t, NULL);
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	exit(7);
}

static pid_t fork_somehow(int how)
{
	pid_t pid;

	if (how == 2)
		return clone(live, stack + sizeof(stack), SIGCHLD, NULL);
	pid = how ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		live(NULL);
	return pid;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 9, status;

	while (argc > 2 && access(argv[2], F_OK))
		usleep(1000);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork_somehow(i % 3);

		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 7 << 8)
			printf("NOT OK %d: %x\n", i, status);
	}
	puts("done");
	return 0;
}
