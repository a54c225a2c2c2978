/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_time.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "shared/sys/clock.h"

static uint64_t recorded; /* ns; relaxed */
static bool set; /* release */
static uint64_t base[2]; /* of monotonic and real time, when it was set first */

void mw_play_time_set(uint64_t ns)
{
	if (!set) {
		base[0] = mw_clock_ns(CLOCK_MONOTONIC);
		base[1] = mw_clock_ns(CLOCK_REALTIME);
	}
	__atomic_store_n(&recorded, ns, __ATOMIC_RELAXED);
	__atomic_store_n(&set, true, __ATOMIC_RELEASE);
}

static const uint64_t *base_of(clockid_t clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
		return &base[0];
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return &base[1];
	default:
		return NULL;
	}
}

/* In place of the C library's, for the allocator that is preloaded, too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	const uint64_t *from = base_of(clock);
	long r;

	if (from && __atomic_load_n(&set, __ATOMIC_ACQUIRE)) {
		*t = mw_sys_timespec(*from + __atomic_load_n(&recorded, __ATOMIC_RELAXED));
		return 0;
	}
	r = mw_sys_plain(SYS_clock_gettime, clock, mw_sys_ptr(t), 0, 0, 0);
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : 0;
}
