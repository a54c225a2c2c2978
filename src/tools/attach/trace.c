/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c - see trace.h. */
#include "trace.h"

#if defined(__x86_64__) && !defined(__ILP32__)

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "visit.h"

enum {
	STOP_MS = 2000, /* a thread may be in the kernel where nothing interrupts it */
	CS_64 = 0x33,
	STACK_MORE = 32 * 1024, /* for what Ruby calls, as a signal handler */
	/* of the kernel: a system call that a signal interrupted */
	RESTART_SYS = 512,
	RESTART_NOINTR = 513,
	RESTART_NOHAND = 514,
	RESTART_BLOCK = 516
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

static enum mw_trace_result refuse(char *err, const char *line)
{
	snprintf(err, MW_THERE_ERROR, "%s", line);
	return MW_TRACE_REFUSED;
}

static enum mw_trace_result refuse_ptrace(char *err)
{
	if (errno == ESRCH)
		return refuse(err, "its main thread has ended: name another process");
	return refuse(err,
		      "ptrace: not permitted: run mwrapctl as root, with CAP_SYS_PTRACE, or see ptrace_scope");
}

/* Waits for the stop that PTRACE_INTERRUPT makes. Signals that come first go to the process. */
static enum mw_trace_result wait_for_stop(pid_t pid, char *err)
{
	uint64_t end = now() + (uint64_t)STOP_MS * 1000000;

	for (;;) {
		int status;
		pid_t got = waitpid(pid, &status, __WALL | WNOHANG);

		if (got < 0 || (got == pid && !WIFSTOPPED(status)))
			return refuse(err, "its main thread has ended: name another process");
		if (got == 0) {
			if (now() > end)
				return refuse(err, "its main thread is stuck in the kernel: try again");
			nap();
		} else if (status >> 16 != PTRACE_EVENT_STOP) {
			(void)ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
		} else if (WSTOPSIG(status) != SIGTRAP) {
			(void)ptrace(PTRACE_DETACH, pid, 0, 0);
			return refuse(err, "its main thread is stopped: continue it first (kill -CONT)");
		} else {
			return MW_TRACE_DONE;
		}
	}
}

/* A restartable sequence would miss that it was interrupted. */
static bool in_sequence(const struct mw_there *t, uintptr_t pc)
{
	struct {
		uint64_t of;
		uint32_t bytes, signature, flags, pad;
	} config;
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t at = 0;

	enum { GET_RSEQ_CONFIGURATION = 0x420f, CS_AT = 8 };

	if (syscall(SYS_ptrace, GET_RSEQ_CONFIGURATION, t->pid, sizeof(config), &config) != sizeof(config) ||
	    !config.of || !mw_there_read(t, config.of + CS_AT, &at, sizeof(at)) || !at)
		return false;
	return !mw_there_read(t, at, &sequence, sizeof(sequence)) || pc - sequence.start < sequence.length;
}

/* Room below the stack pointer. Not known for the stack of a new Fiber: then there is none. */
static bool has_stack(const struct mw_there *t, uintptr_t sp, size_t stack)
{
	enum { GROWN = 4 << 20 };
	const struct mw_mapping *m = mw_there_mapping(t, sp);

	if (m)
		return m->writable && (m->grows || sp - m->start > stack + STACK_MORE);
	for (m = t->mappings; m < t->mappings + t->n_mappings; m++)
		if (m->grows && sp < m->start && m->start - sp < GROWN)
			return true; /* it has grown meanwhile */
	return false;
}

/* As the kernel does after a signal without a handler. */
static void restart_call(struct user_regs_struct *r)
{
	if ((long)r->orig_rax < 0)
		return; /* not in a system call */
	switch (-(long)r->rax) {
	case RESTART_SYS:
	case RESTART_NOINTR:
	case RESTART_NOHAND:
		r->rax = r->orig_rax;
		r->rip -= 2;
		break;
	case RESTART_BLOCK:
		r->rax = SYS_restart_syscall;
		r->rip -= 2;
		break;
	default:
		break;
	}
	r->orig_rax = (unsigned long long)-1;
}

static enum mw_trace_result lead(const struct mw_there *t, uintptr_t entry, size_t stack, char *err)
{
	struct user_regs_struct r;
	uint64_t back;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &r) != 0)
		return refuse_ptrace(err);
	if (r.cs != CS_64)
		return refuse(err, "its main thread runs 32-bit code: not supported");
	if (in_sequence(t, r.rip) || !has_stack(t, r.rsp, stack))
		return MW_TRACE_AGAIN;
	restart_call(&r);
	back = r.rip;
	if (!mw_there_write(t, r.rsp - MW_VISIT_SKIP, &back, sizeof(back)))
		return MW_TRACE_AGAIN;
	r.rsp -= MW_VISIT_SKIP;
	r.rip = entry;
	return ptrace(PTRACE_SETREGS, t->pid, 0, &r) == 0 ? MW_TRACE_DONE : refuse_ptrace(err);
}

/* On a busy machine the thread must not stand still while this program waits for a CPU. */
static void hurry(bool on)
{
	const struct sched_param p = { .sched_priority = on };

	(void)sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p); /* root may */
}

static enum mw_trace_result visit(const struct mw_there *t, uintptr_t entry, size_t stack,
				  struct mw_trace_time *time, char err[MW_THERE_ERROR])
{
	enum mw_trace_result result;
	uint64_t from, seen;

	if (ptrace(PTRACE_SEIZE, t->pid, 0, 0) != 0)
		return refuse_ptrace(err);
	from = now();
	if (ptrace(PTRACE_INTERRUPT, t->pid, 0, 0) != 0)
		return refuse_ptrace(err);
	result = wait_for_stop(t->pid, err);
	if (result != MW_TRACE_DONE)
		return result; /* the kernel lets it go when this program ends */
	seen = now();
	result = lead(t, entry, stack, err);
	(void)ptrace(PTRACE_DETACH, t->pid, 0, 0);
	*time = (struct mw_trace_time){ .most = now() - from, .seen = now() - seen };
	return result;
}

enum mw_trace_result mw_trace_visit(const struct mw_there *t, uintptr_t entry, size_t stack,
				    struct mw_trace_time *time, char err[MW_THERE_ERROR])
{
	enum mw_trace_result result;

	hurry(true);
	result = visit(t, entry, stack, time, err);
	hurry(false);
	return result;
}

#endif
