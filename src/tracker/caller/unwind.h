/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind.h - walks the calling thread's native stack, from its own frame outwards.
 *
 * It gives the return addresses that _Unwind_Backtrace would give, from the compiler's call frame
 * information (cfi.h). Unwind rows are cached by pc, for the whole process: a frame takes some
 * nanoseconds if its row is in the cache, some hundreds if it isn't.
 *
 *  - Any thread may call, on any stack: a Fiber's, a sigaltstack's; a signal handler may, and a
 *    forked child. No lock, no allocation, no thread-local storage, no system call; errno is kept.
 *  - A walk never crosses a signal handler's frame: it ends there.
 *  - A walk ends at code without call frame information (JIT), at a rule that needs another
 *    register or an expression (PLT entries, some assembly, functions that realign their stack
 *    and call alloca), and where the stack doesn't rise. `why` says which.
 *
 * Trusted: well-formed call frame information is also right, and code with it keeps the frame
 * pointer as it says. A word is read only between a frame's stack pointer and its CFA, less than
 * MW_CFI_FRAME_MAX above. With right information that is the thread's stack. With wrong information
 * the CFA may lie beyond the stack's end, and reading there may fault, as in libgcc.
 * Malformed information ends the walk, see cfi.h.
 *
 * If a library is closed, another may be mapped there. dlclose has to call mw_unwind_forget after
 * mw_close_begin and before the real call. No unwind row is kept while a close is under way
 * (tracker/table/closes.h), so none outlives its library. The C library closes some itself, unseen
 * (iconv, NSS). An unwind row of theirs is wrong if a later library has the very same return address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the last pc's function: */
enum mw_unwind_end {
	MW_UNWIND_OUTERMOST = 1, /* the thread, or its Fiber, began there */
	MW_UNWIND_SIGNAL,        /* it is the return from a signal handler */
	MW_UNWIND_RULE,          /* a rule isn't understood */
	MW_UNWIND_NO_CFI,        /* nothing describes it; so it is for arm64's return from a handler */
	MW_UNWIND_CFA,           /* the stack wouldn't rise, or by too much, or isn't aligned */
	MW_UNWIND_STOP,          /* it is in the range to stop at */
	MW_UNWIND_LIMIT          /* `most` are written, and it has a caller */
};

struct mw_unwind {
	/*
	 * A return address: once it is met, the frames inside of it are dropped, and it becomes the
	 * first. Until then these frames count for `most`. 0, or one that isn't met: none is dropped.
	 */
	uintptr_t from;
	/* The walk ends with the first pc in [stop_start, stop_end). Both 0: it doesn't. */
	uintptr_t stop_start, stop_end;
	enum mw_unwind_end why; /* set by mw_unwind: why the walk ended */
};

/* Writes up to `most` return addresses, the caller's own first. Returns how many. */
size_t mw_unwind(struct mw_unwind *u, uintptr_t *pcs, size_t most);

/*
 * The function that a return address leads to, as from `start` to before `end`. A part that the
 * compiler put elsewhere is one of its own. False: not known. Takes a microsecond.
 */
bool mw_unwind_function(uintptr_t pc, uintptr_t *start, uintptr_t *end);

/* Makes all cached unwind rows stale. Any thread may call. */
void mw_unwind_forget(void);
