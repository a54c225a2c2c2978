/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox.c - locks the process into a list of system calls when it asks for that.
 *
 * A program calls enter_sandbox(). From there on all of its threads may make the system calls of
 * $SANDBOX_ALLOW, numbers with commas, and no other. Any other fails with ENOSYS, and its number is a
 * line in $SANDBOX_LOG. If a thread blocks SIGSYS, that ends the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST = 200, NUMBERS = 1024 };
static int log_fd = -1;
static atomic_uchar seen[NUMBERS];

static void refuse(int sig, siginfo_t *i, void *context)
{
	ucontext_t *c = context;
	char line[24];
	int n;

	(void)sig;
#if defined(__x86_64__)
	c->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#else
	c->uc_mcontext.regs[0] = (unsigned long)-ENOSYS;
#endif
	if (i->si_syscall < 0 || i->si_syscall >= NUMBERS || atomic_exchange(&seen[i->si_syscall], 1))
		return;
	n = snprintf(line, sizeof(line), "%d\n", i->si_syscall);
	if (write(log_fd, line, (size_t)n) != n)
		_exit(97);
}

__attribute__((visibility("default"))) void enter_sandbox(void)
{
	static struct sock_filter code[2 * MOST + 3];
	struct sock_fprog program = { 0, code };
	struct sigaction a = { .sa_sigaction = refuse, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };
	const char *allow = getenv("SANDBOX_ALLOW"), *log = getenv("SANDBOX_LOG");
	unsigned short n = 0;
	char *end;

	log_fd = log ? open(log, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	code[n++] =
		(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (; allow && *allow && n < 2 * MOST; allow = *end == ',' ? end + 1 : end) {
		uint32_t number = (uint32_t)strtoul(allow, &end, 10);

		if (end == allow)
			_exit(96);
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	program.len = n;
	sigaction(SIGSYS, &a, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		_exit(95);
}
