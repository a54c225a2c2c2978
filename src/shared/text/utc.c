/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "utc.h"

#include <stdio.h>

#include <stdbool.h>

enum { DAY = 86400 };

static bool leap(int64_t y)
{
	return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

struct mw_utc mw_utc_of(int64_t t)
{
	static const uint8_t days_of[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t day = t / DAY, y = 1970, n;
	unsigned s = (unsigned)(t % DAY), m = 0;

	for (; day >= 365 + leap(y); y++)
		day -= 365 + leap(y);
	for (; day >= (n = days_of[m] + (m == 1 && leap(y))); m++)
		day -= n;
	return (struct mw_utc){ (unsigned)(y % 10000), m + 1, (unsigned)day + 1, s / 3600,
				s / 60 % 60,           s % 60 };
}

void mw_utc_stamp(char to[MW_UTC_STAMP], int64_t t)
{
	struct mw_utc u = mw_utc_of(t);

	snprintf(to, MW_UTC_STAMP, "%04u%02u%02uT%02u%02u%02uZ", u.year, u.month, u.day, u.hour,
		 u.minute, u.second);
}
