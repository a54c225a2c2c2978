/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - the kernel's time, even if a preload interposes clock_gettime (libfaketime).
 *
 * CLOCK_MONOTONIC, which nobody can set, measures waits. Signal handlers may call these.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "sys.h"

/* 0 if the kernel doesn't know that clock. */
static inline uint64_t mw_clock_ns(clockid_t clock)
{
	struct timespec t;

	mw_sys_clock(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of CLOCK_MONOTONIC. */
static inline uint64_t mw_now_ns(void)
{
	return mw_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t mw_now_ms(void)
{
	return mw_now_ns() / 1000000;
}

/* Seconds since 1970. */
static inline time_t mw_unix_time(void)
{
	return (time_t)(mw_clock_ns(CLOCK_REALTIME) / 1000000000);
}
