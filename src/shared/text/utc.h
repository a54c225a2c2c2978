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

enum {
	MW_UTC_STAMP = 24
}; /* bytes of a buffer for one: 16, a NUL, and room for any unsigned that a compiler expects */
/* "20260131T235959Z", for names of files. */
void mw_utc_stamp(char to[MW_UTC_STAMP], int64_t t);
