/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c - see trace.h. */
#include "trace.h"

#include "machine.h"

#if MW_INJECT_CAN

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STOP_MS = 2000, /* a thread may be in the kernel where nothing interrupts it */
	STACK_MORE = 32 * 1024 /* for what Ruby calls, as a signal handler */
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

enum mw_trace_result mw_trace_refuse(char err[MW_THERE_ERROR], const char *line)
{
	snprintf(err, MW_THERE_ERROR, "%s", line);
	return MW_TRACE_REFUSED;
}

enum mw_trace_result mw_trace_refuse_ptrace(char err[MW_THERE_ERROR])
{
	if (errno == ESRCH)
		return mw_trace_refuse(err, "its main thread has ended: name another process");
	return mw_trace_refuse(
		err,
		"ptrace: not permitted: run mwrapctl as root, with CAP_SYS_PTRACE, or see ptrace_scope");
}

enum mw_trace_result mw_trace_wait(pid_t pid, int stop, bool to_call, char err[MW_THERE_ERROR])
{
	uint64_t end = now() + (uint64_t)STOP_MS * 1000000;

	for (;;) {
		int status;
		pid_t got = waitpid(pid, &status, __WALL | WNOHANG);

		if (got < 0 || (got == pid && !WIFSTOPPED(status)))
			return mw_trace_refuse(err, "its main thread has ended: name another process");
		if (got == 0) {
			if (now() > end)
				return mw_trace_refuse(err,
						       "its main thread is stuck in the kernel: try again");
			nap();
		} else if (status >> 8 == stop) {
			return MW_TRACE_DONE;
		} else if (status >> 16 != PTRACE_EVENT_STOP) {
			(void)ptrace(to_call ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, WSTOPSIG(status));
		} else {
			(void)ptrace(PTRACE_DETACH, pid, 0, 0);
			return mw_trace_refuse(
				err, "its main thread is stopped: continue it first (kill -CONT)");
		}
	}
}

bool mw_trace_in_sequence(const struct mw_there *t, uintptr_t pc)
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

/* Not known for the stack of a new Fiber: then there is none. */
bool mw_trace_has_stack(const struct mw_there *t, uintptr_t sp, size_t stack)
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

	if (ptrace(PTRACE_SEIZE, t->pid, 0, PTRACE_O_TRACESYSGOOD) != 0)
		return mw_trace_refuse_ptrace(err);
	from = now();
	if (ptrace(PTRACE_INTERRUPT, t->pid, 0, 0) != 0)
		return mw_trace_refuse_ptrace(err);
	result = mw_trace_wait(t->pid, PTRACE_EVENT_STOP << 8 | SIGTRAP, false, err);
	if (result != MW_TRACE_DONE)
		return result; /* the kernel lets it go when this program ends */
	seen = now();
	result = mw_machine_lead(t, entry, stack, err);
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
