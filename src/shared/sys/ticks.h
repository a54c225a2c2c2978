/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.h - the processor's counter: the cheapest measure of a short time. Its rate is the reader's to find. */
#pragma once

#include "clock.h"
#include "compiler.h"

/* Any thread, also a signal handler. The processor may not be done with what comes before, and may run ahead. */
MW_INLINE uint64_t mw_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
#else
	return mw_now_ns();
#endif
}

/* The same once what comes before is done, and before what follows begins. */
MW_INLINE uint64_t mw_ticks_between(void)
{
	uint64_t n;

#if defined(__x86_64__)
	__builtin_ia32_lfence();
	n = mw_ticks();
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("dsb ld\n\tisb" ::: "memory");
	n = mw_ticks();
	__asm__ volatile("isb" ::: "memory");
#else
	n = mw_ticks();
#endif
	return n;
}
