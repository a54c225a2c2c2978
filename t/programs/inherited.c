/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inherited.c - prints what a process has from the one before exec, a line for each thing.
 *
 *	inherited            prints it
 *	inherited SEED CMD   sets much of it at random, then execs CMD
 *
 * All by system calls: the C library hides two signals.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { SIGNALS = 64, WORDS = 8, LIBRARY_FIRST = 32, LIBRARY_LAST = 33 };

/* as the kernel has it: the handler is the first word, and the mask's size is 8 bytes */
struct action {
	uintptr_t words[WORDS];
};

extern char **environ;

static void act(int sig, struct action *set, struct action *old)
{
	syscall(SYS_rt_sigaction, sig, set, old, 8);
}

static uint64_t mask(int how, const uint64_t *set)
{
	uint64_t old = 0;

	syscall(SYS_rt_sigprocmask, how, set, &old, 8);
	return old;
}

/* --- print --------------------------------------------------------------------------- */

static int out; /* a copy of a descriptor that is open, above those of interest */

static void show_signals(void)
{
	uint64_t ignored = 0, pending = 0;

	for (int s = 1; s <= SIGNALS; s++) {
		struct action a = { 0 };

		act(s, NULL, &a);
		if (a.words[0] == (uintptr_t)SIG_IGN)
			ignored |= UINT64_C(1) << (s - 1);
	}
	syscall(SYS_rt_sigpending, &pending, 8);
	dprintf(out, "blocked %#llx\nignored %#llx\npending %#llx\n",
		(unsigned long long)mask(SIG_BLOCK, NULL), (unsigned long long)ignored,
		(unsigned long long)pending);
}

static void show_descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		struct stat st;

		if (fd == out || fstat(fd, &st))
			continue;
		dprintf(out, "fd %d %o %lx:%lx %x %x %lld\n", fd, st.st_mode, (long)st.st_dev,
			(long)st.st_ino, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD),
			(long long)lseek(fd, 0, SEEK_CUR));
	}
}

/* only: the beginnings of lines; NULL: all */
static void show_file(const char *path, const char *only)
{
	char line[4096], name[8];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!only || (sscanf(line, "%7[A-Za-z]:", name) == 1 && strstr(only, name)))
			dprintf(out, "%s %s", path, line);
	if (f)
		fclose(f);
}

static void show_limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit l = { 0 };

		getrlimit(i, &l);
		dprintf(out, "limit %d %llu %llu\n", i, (unsigned long long)l.rlim_cur,
			(unsigned long long)l.rlim_max);
	}
}

static void show_process(void)
{
	char cwd[4096] = "";
	struct itimerval t = { 0 };
	struct timespec slice = { 0 };
	cpu_set_t cpus;
	int death = 0, sub = 0;

	if (!getcwd(cwd, sizeof(cwd)))
		dprintf(out, "no cwd\n");
	prctl(PR_GET_PDEATHSIG, &death);
	prctl(PR_GET_CHILD_SUBREAPER, &sub);
	dprintf(out, "cwd %s\numask %o\nnice %d\ngroup %d session %d\n", cwd, umask(0),
		getpriority(PRIO_PROCESS, 0), getpgid(0) == getpid(), getsid(0) == getpid());
	dprintf(out,
		"personality %x death %d subreaper %d securebits %d no_new_privs %d keepcaps %d slack %d thp %d\n",
		personality(0xffffffff), death, sub, prctl(PR_GET_SECUREBITS),
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_KEEPCAPS), prctl(PR_GET_TIMERSLACK),
		prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	dprintf(out, "policy %d io %ld ctty %d\n", sched_getscheduler(0), syscall(SYS_ioprio_get, 1, 0),
		open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0);
	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	dprintf(out, "cpus %d %d\n", CPU_COUNT(&cpus), CPU_ISSET(0, &cpus));
	for (int i = 0; i < 3; i++) {
		(void)getitimer(i, &t);
		dprintf(out, "timer %d %d\n", i, t.it_value.tv_sec > 0);
	}
	sched_rr_get_interval(0, &slice);
	show_file("/proc/self/oom_score_adj", NULL);
	show_file("/proc/self/coredump_filter", NULL);
	show_file("/proc/self/status", "CapInh CapPrm CapEff CapBnd CapAmb Seccomp Groups Uid Gid");
}

static void show(char **argv)
{
	out = fcntl(9, F_DUPFD, 1100); /* the test's own */
	close(9);
	show_descriptors();
	show_signals();
	show_limits();
	show_process();
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "MWRAP", 5))
			dprintf(out, "env %s\n", *e);
	for (; *argv; argv++)
		dprintf(out, "arg %s\n", *argv);
}

/* --- set ----------------------------------------------------------------------------- */

static bool often(unsigned one_of)
{
	return rand() % one_of == 0;
}

static void set_signals(void)
{
	uint64_t blocked = 0;

	for (int s = 1; s <= SIGNALS; s++) {
		struct action ignore = { { (uintptr_t)SIG_IGN } };

		if (often(3))
			act(s, &ignore, NULL);
		if (often(3))
			blocked |= UINT64_C(1) << (s - 1);
	}
	mask(SIG_SETMASK, &blocked);
	/*
	 * Some are pending; exec keeps them. The C library unblocks its own two when a thread begins, and they
	 * would end the process.
	 */
	for (int s = 1; s <= SIGNALS; s++)
		if (s != SIGKILL && s != SIGSTOP && (s < LIBRARY_FIRST || s > LIBRARY_LAST) &&
		    blocked >> (s - 1) & 1 && often(2))
			syscall(SYS_tgkill, getpid(), getpid(), s);
}

static void set_process(void)
{
	struct itimerval t = { .it_value.tv_sec = 1000 };
	struct rlimit core = { 0, 4096 };
	FILE *f = fopen("/proc/self/oom_score_adj", "w");

	if (f) {
		fprintf(f, "%d\n", rand() % 1000);
		fclose(f);
	}
	umask(rand() & 0777);
	(void)!nice(rand() % 10);
	(void)!personality(often(2) ? ADDR_NO_RANDOMIZE : 0);
	setrlimit(RLIMIT_CORE, &core);
	prctl(PR_SET_TIMERSLACK, 1 + rand() % 100000);
	if (often(2))
		prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (often(2))
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (often(2))
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		if (often(2))
			setitimer(i, &t, NULL);
	if (often(2))
		setsid();
}

static void set_descriptors(void)
{
	for (int fd = 0; fd < 40; fd++) {
		if (fd == 9)
			continue;
		if (often(3))
			close(fd);
		else if (fd > 2 && often(3))
			dup2(open("/dev/zero", rand() % 3), fd);
	}
}

/* Entries that shells and languages drop or join */
static void set_environment(void)
{
	static char *odd[] = { "no value", "a.b=c", "TWICE=1", "TWICE=2", "=x", "EMPTY=" };
	static char *all[1024];
	size_t n = 0;

	for (; environ[n] && n < 1000; n++)
		all[n] = environ[n];
	memcpy(all + n, odd, sizeof(odd));
	environ = all;
}

int main(int argc, char **argv)
{
	if (argc < 3 || strspn(argv[1], "0123456789") != strlen(argv[1])) {
		show(argv);
		return 0;
	}
	srand((unsigned)atoi(argv[1]));
	set_process();
	set_signals();
	set_descriptors();
	set_environment();
	execvp(argv[2], argv + 2);
	return 1;
}
