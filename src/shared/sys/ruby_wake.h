/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_wake.h - wakes Ruby's main thread, from any thread, or from any code that interrupts one.
 *
 * Ruby has one handler for some signals, which is safe in any thread. It notes the signal's number, and has
 * the main thread leave its sleep or system call. That thread looks for what was noted, calls postponed
 * jobs, and goes on: what it waited for decides when it ends. Here it is called by hand, without a signal.
 *
 * Noted is SIGVTALRM: Ruby keeps that for itself, and Signal.trap refuses it. So nothing is called for it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys.h"

/*
 * from, to: Ruby's code. False: the app has replaced the handlers. In a process whose VM is up.
 * Calls no other function and has no data of its own, so that code copied into another process may use it.
 */
static inline __attribute__((always_inline)) bool mw_ruby_wake(uintptr_t from, uintptr_t to)
{
	const uint64_t handled =
		1u << (SIGINT - 1) | 1u << (SIGTERM - 1) | 1u << (SIGHUP - 1) | 1u << (SIGQUIT - 1) |
		1u << (SIGALRM - 1) | 1u << (SIGUSR1 - 1) | 1u << (SIGUSR2 - 1);
	struct { /* the kernel's */
		void (*handler)(int, void *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} is;

	for (int i = 0; i < 64; i++) {
		if (!(handled >> i & 1) ||
		    mw_sys_plain(SYS_rt_sigaction, i + 1, 0, mw_sys_ptr(&is), sizeof(is.mask), 0) != 0)
			continue;
		if ((uintptr_t)is.handler - from < to - from) {
			is.handler(SIGVTALRM, 0, 0);
			return true;
		}
	}
	return false;
}
