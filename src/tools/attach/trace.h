/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - leads a process's main thread to an address, and back.
 *
 * The thread stops once, for its registers to be read and two of them to be set. It then goes on by
 * itself, and nothing traces it any more. Whenever this program ends, the kernel lets the thread go: either
 * nothing has changed, or all that it needs to come back is on its own stack.
 *
 * An interrupted system call is made again after that, as after a signal without a handler.
 */
#ifndef MW_INJECT_TRACE_H
#define MW_INJECT_TRACE_H

#include "there.h"

enum mw_trace_result { MW_TRACE_DONE, MW_TRACE_AGAIN, MW_TRACE_REFUSED };

/* How long the thread stood still, in nanoseconds; most: with the time until it stopped. */
struct mw_trace_time {
	uint64_t most, seen;
};

/*
 * entry: code that is as mw_visit_entry. stack: bytes that it needs. AGAIN: not at this moment. REFUSED: a line
 * in err.
 */
enum mw_trace_result mw_trace_visit(const struct mw_there *, uintptr_t entry, size_t stack,
				    struct mw_trace_time *, char err[MW_THERE_ERROR]);

#endif
