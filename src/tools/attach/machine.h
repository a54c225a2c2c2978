/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - differences between processors: registers, and the place of the VM in Ruby's code.
 *
 * x86_64.c and arm64.c have it; visit.c has the code that is copied into the process.
 */
#ifndef MW_INJECT_MACHINE_H
#define MW_INJECT_MACHINE_H

#include "trace.h"
#include "visit.h"

/* Up to 4.0; from 3.3 on two others do the same. */
#define MW_MACHINE_ONE "rb_postponed_job_register_one"

/* How much stack the visit needs, and for x86-64 which registers are saved. False: a line in err. */
bool mw_machine_measure(struct mw_visit *, char err[MW_THERE_ERROR]);
/* Where Ruby has the address of its VM, if it doesn't export that. 0: not found. */
uintptr_t mw_machine_vm(const struct mw_there *, const struct mw_object *ruby);
/* Where a thread has its context, into the visit. False: it has to be known here, and isn't. */
bool mw_machine_context(const struct mw_there *, const struct mw_object *ruby, struct mw_visit *);
/* The thread has stopped: leads it to the entry, so that it comes back by itself. */
enum mw_trace_result mw_machine_lead(const struct mw_there *, uintptr_t entry, size_t stack,
				     char err[MW_THERE_ERROR]);

/* --- trace.c, for these -------------------------------------------------------- */

enum mw_trace_result mw_trace_refuse(char err[MW_THERE_ERROR], const char *line);
enum mw_trace_result mw_trace_refuse_ptrace(char err[MW_THERE_ERROR]); /* by errno */
/*
 * The next stop of this kind: PTRACE_EVENT_STOP << 16 | SIGTRAP, or SIGTRAP | 0x80 for a system call. Signals that
 * come first go to the process. to_call: it goes on to the next call.
 */
enum mw_trace_result mw_trace_wait(pid_t, int stop, bool to_call, char err[MW_THERE_ERROR]);
/* Is the thread in a restartable sequence, which would miss that it was interrupted? */
bool mw_trace_in_sequence(const struct mw_there *, uintptr_t pc);
/* Is there room below the stack pointer? */
bool mw_trace_has_stack(const struct mw_there *, uintptr_t sp, size_t stack);

#endif
