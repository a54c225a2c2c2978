/* SPDX-License-Identifier: GPL-2.0-or-later */
/* root.h - the square root: libm is not linked to what every process preloads. */
#pragma once

/* Of a number from 0 on; 0 for others. By Newton's method from above. */
static inline double mw_root(double v)
{
	double x = v > 1 ? v : 1, next;

	while ((next = (x + v / x) / 2) < x)
		x = next;
	return v > 0 ? x : 0;
}
