/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks.c MODE - processes that come of processes.
 *
 * child:  a child goes on with its parent's totals; its growth starts at 0
 * nested: so does a child's child
 * storm:  200 forks while four threads allocate; the children allocate too
 * vfork:  vfork and exec, a hundred times
 * spawn:  posix_spawn, a hundred times
 * exec:   the process becomes another program, which has a dump of its own
 * leaf:   that program
 */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "../lib/site.h"

extern char **environ;
static void *block[100];

MALLOC_SITE(before);
MALLOC_SITE(after);
MALLOC_SITE(churn);

static void reap(pid_t pid, const char *what)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		say("NOT OK %s ended with %d\n", what, status);
}

static void nine(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		block[i] = before(100);
	free(block[9]);
	block[9] = NULL;
}

static void child(void)
{
	pid_t pid;

	nine();
	pid = fork();
	if (!pid) {
		free(block[0]);
		free(block[1]);
		block[0] = before(1000);
		block[1] = after(10);
		expect_child("before", (struct expected){ 11, 3, 2000, 8, 1700, 800 });
		expect_child("after", (struct expected){ 1, 0, 10, 1, 10, 10 });
		exit(0);
	}
	reap(pid, "child");
	block[20] = after(5000);
	expect("before", 10, 1, 1000, 900);
	expect("after", 1, 0, 5000, 5000);
}

static void nested(void)
{
	pid_t pid, grand;

	nine();
	pid = fork();
	if (!pid) {
		block[10] = before(50);
		grand = fork();
		if (!grand) {
			free(block[10]);
			free(block[0]);
			expect_child("before", (struct expected){ 11, 3, 1050, 8, 800, -150 });
			exit(0);
		}
		reap(grand, "grandchild");
		expect_child("before", (struct expected){ 11, 1, 1050, 10, 950, 50 });
		exit(0);
	}
	reap(pid, "child");
	expect("before", 10, 1, 1000, 900);
}

static _Atomic bool stop;
static _Atomic uint64_t rounds;

static void *churner(void *arg)
{
	uint64_t n = 0;

	while (!stop) {
		void *p = churn(100 + n % 400), *q = churn(100);

		free(p);
		free(q);
		n++;
	}
	rounds += n;
	return arg;
}

static void busy_child(size_t k)
{
	size_t i;

	alarm(120); /* a deadlock ends it, and shows */
	for (i = 0; i < 100; i++)
		block[i] = after(i + 1);
	for (i = 0; i < 100; i++)
		free(block[i]);
	free(churn(1));
	if (k % 2)
		_exit(0);
	exit(0);
}

static void storm(void)
{
	pthread_t t[4];
	size_t i, n = 200;
	pid_t pid;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churner, NULL);
	for (i = 0; i < n; i++) {
		void *p = before(7);

		pid = fork();
		if (!pid)
			busy_child(i);
		reap(pid, "child");
		free(p);
	}
	stop = true;
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	expect("before", n, n, 7 * n, 0);
	expect("after", 0, 0, 0, 0);
	check(rounds > n, "there was churn");
}

static char *const true_argv[] = { "true", NULL };

static void vforks(void)
{
	volatile size_t i; /* vfork returns twice */
	pid_t pid;

	for (i = 0; i < 100; i++) {
		void *p = before(10);

		pid = vfork();
		if (!pid) {
			execv("/bin/true", true_argv);
			_exit(127);
		}
		reap(pid, "vfork");
		free(p);
	}
	block[0] = after(3);
	expect("before", 100, 100, 1000, 0);
	expect("after", 1, 0, 3, 3);
}

static void spawns(void)
{
	size_t i;
	pid_t pid;

	for (i = 0; i < 100; i++) {
		void *p = before(10);

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, true_argv, environ))
			pid = -1;
		reap(pid, "spawn");
		free(p);
	}
	expect("before", 100, 100, 1000, 0);
}

static void leaf(void)
{
	nine();
	expect_child("before", (struct expected){ 10, 1, 1000, 9, 900, 900 });
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char *const next[] = { argv[0], "leaf", NULL };

	if (!strcmp(mode, "child"))
		child();
	else if (!strcmp(mode, "nested"))
		nested();
	else if (!strcmp(mode, "storm"))
		storm();
	else if (!strcmp(mode, "vfork"))
		vforks();
	else if (!strcmp(mode, "spawn"))
		spawns();
	else if (!strcmp(mode, "leaf"))
		leaf();
	else if (!strcmp(mode, "exec")) {
		nine(); /* forgotten by exec */
		if (fork()) { /* the older one too */
			wait(NULL);
			block[11] = before(1);
			expect("before", 11, 1, 1001, 901);
			return 0;
		}
		execv(argv[0], next);
		return 127;
	} else {
		return 2;
	}
	return 0;
}
