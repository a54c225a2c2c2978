/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_command.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "shared/sys/sys.h"

enum { STACK = 64 * 1024, SECONDS = 600, NAPS = 10, ENVIRONMENT = 256 * 1024, VARIABLES = 4096 };

/* One mapping for each run: stacks, and what the program gets. */
struct run {
	_Alignas(16) char between[STACK], program[STACK];
	char *argv[3], *envp[VARIABLES + 1];
	char path[4096], report[4096];
	char environment[ENVIRONMENT];
	long app; /* its PID */
};

static struct run *run; /* NULL: none */
static pid_t between;

/* --- in the process between, which shares memory and errno's place: plain system calls only --- */

static int become(void *arg)
{
	const struct run *r = arg;
	unsigned long none = 0, by_default[4] = { 0 };
	long in;

	for (int sig = 1; sig < 32; sig++)
		(void)mw_sys_plain(SYS_rt_sigaction, sig, mw_sys_ptr(by_default), 0, MW_SYS_SIGSET, 0);
	(void)mw_sys_plain(SYS_rt_sigprocmask, SIG_SETMASK, mw_sys_ptr(&none), 0, MW_SYS_SIGSET, 0);
	in = mw_sys_plain(SYS_openat, AT_FDCWD, mw_sys_ptr("/dev/null"), O_RDONLY, 0, 0);
	if (in > 0) {
		(void)mw_sys_plain(SYS_dup3, in, 0, 0, 0, 0);
		(void)mw_sys_plain(SYS_close, in, 0, 0, 0, 0);
	}
	(void)mw_sys_plain(SYS_dup3, 2, 1, 0, 0, 0); /* the app's output may be read by a program */
	(void)mw_sys_plain(SYS_execve, mw_sys_ptr(r->path), mw_sys_ptr(r->argv), mw_sys_ptr(r->envp), 0, 0);
	(void)mw_sys_plain(SYS_exit_group, 127, 0, 0, 0, 0);
	return 127;
}

static int stay_between(void *arg)
{
	struct run *r = arg;
	const struct timespec nap = { .tv_nsec = 1000000000 / NAPS };
	long child = clone(become, r->program + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, r), got = 0;

	for (int i = 0; child > 0 && got == 0 && i < SECONDS * NAPS; i++) {
		if (mw_sys_plain(SYS_getppid, 0, 0, 0, 0, 0) != r->app)
			break; /* the app has ended: its memory must not stay for this */
		(void)mw_sys_plain(SYS_nanosleep, mw_sys_ptr(&nap), 0, 0, 0, 0);
		got = mw_sys_plain(SYS_wait4, child, 0, WNOHANG, 0, 0);
		if (i == SECONDS * NAPS - 1)
			(void)mw_sys_plain(SYS_kill, child, SIGKILL, 0, 0, 0);
	}
	(void)mw_sys_plain(SYS_exit_group, 0, 0, 0, 0, 0);
	return 0;
}

/* --- in this process ---------------------------------------------------------------------------- */

/* Those that track a program don't count. */
static bool is_passed(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) != 0 && strncmp(variable, "MWRAP", 5) != 0;
}

static void read_environment(struct run *r)
{
	int fd = mw_sys_open("/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
	size_t n = 0, at = 0, to = 0;
	ssize_t got;

	while (fd >= 0 && n < ENVIRONMENT - 1 &&
	       (got = mw_sys_read(fd, r->environment + n, ENVIRONMENT - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		mw_sys_close(fd);
	for (; at < n && to < VARIABLES; at += strlen(r->environment + at) + 1)
		if (r->environment[at] && is_passed(r->environment + at))
			r->envp[to++] = r->environment + at;
}

int mw_command_run(const char *program, const char *report)
{
	int failed;

	if (!mw_command_reap())
		return EBUSY;
	if (mw_sys(SYS_faccessat, AT_FDCWD, mw_sys_ptr(program), X_OK, 0, 0) != 0)
		return errno;
	run = mw_sys_map(sizeof(*run), MAP_PRIVATE);
	if (!run)
		return errno;
	strncpy(run->path, program, sizeof(run->path) - 1);
	strncpy(run->report, report, sizeof(run->report) - 1);
	run->argv[0] = run->path;
	run->argv[1] = run->report;
	run->app = mw_sys_getpid();
	read_environment(run);
	between = clone(stay_between, run->between + STACK, CLONE_VM, run);
	if (between > 0)
		return 0;
	failed = errno;
	mw_sys_unmap(run, sizeof(*run));
	run = NULL;
	return failed;
}

bool mw_command_reap(void)
{
	if (!run)
		return true;
	if (mw_sys(SYS_wait4, between, 0, __WCLONE | WNOHANG, 0, 0) == 0)
		return false;
	mw_sys_unmap(run, sizeof(*run));
	run = NULL;
	return true;
}

void mw_command_child(void)
{
	run = NULL; /* a copy of its mapping stays */
}
