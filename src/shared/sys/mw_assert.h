/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mw_assert.h - invariants, checked in builds of tests.
 *
 *	mw_assert(t->permit == MW_PERMIT_BUSY);
 *
 * With -DMW_ASSERT (t/tests.mk) a condition that doesn't hold ends the process by
 * SIGABRT, after one line on stderr: "mwrap: FILE:LINE: must stay true: CONDITION". In other builds the
 * condition is compiled, but never evaluated. It must have no effects.
 *
 * A condition states a sentence of a header, about words that no other thread changes at that moment. It may
 * stand in malloc, in a signal handler, in a forked child, and before main. A failure calls only the kernel:
 * it allocates nothing, takes no lock, and runs no handler.
 */
#pragma once

#ifdef MW_ASSERT

#include "sys.h"

/* Ends the process by SIGABRT, whatever the app does at that signal. */
__attribute__((noreturn, noinline, cold, unused)) static void mw_assert_end(void)
{
	static const long by_default[4]; /* the kernel's struct sigaction */
	sigset_t abrt;

	(void)sigemptyset(&abrt);
	(void)sigaddset(&abrt, SIGABRT);
	(void)mw_sys(SYS_rt_sigaction, SIGABRT, mw_sys_ptr(by_default), 0, MW_SYS_SIGSET, 0);
	mw_sys_sigmask(SIG_UNBLOCK, &abrt, NULL);
	(void)mw_sys(SYS_tgkill, mw_sys_getpid(), mw_sys(SYS_gettid, 0, 0, 0, 0, 0), SIGABRT, 0, 0);
	__builtin_trap();
}

__attribute__((noreturn, noinline, cold, unused)) static void mw_assert_failed(const char *line, size_t n)
{
	(void)mw_sys_write(STDERR_FILENO, line, n);
	mw_assert_end();
}

#define MW_ASSERT_TEXT_(x) #x
#define MW_ASSERT_TEXT(x) MW_ASSERT_TEXT_(x)
#define MW_ASSERT_LINE(cond) \
	"mwrap: " __FILE__ ":" MW_ASSERT_TEXT(__LINE__) ": must stay true: " cond "\n"
#define mw_assert(cond) \
	((cond) ? (void)0 : mw_assert_failed(MW_ASSERT_LINE(#cond), sizeof(MW_ASSERT_LINE(#cond)) - 1))

#else
#define mw_assert(cond) ((void)sizeof((cond) ? 1 : 0))
#endif
