/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utc.h - a time as date and time of day, without libc's gmtime_r(), which takes a lock. */
#pragma once

#include <stdint.h>

struct mw_utc {
	unsigned year, month, day; /* month and day from 1 on; year 0 to 9999, higher ones wrap */
	unsigned hour, minute, second;
};

/* t: seconds since 1970, not negative. */
struct mw_utc mw_utc_of(int64_t t);
