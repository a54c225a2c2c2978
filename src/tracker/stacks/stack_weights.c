/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack_weights.c - how many blocks a sampled one stands for; see stacks_read.h. */
#include "stacks_read.h"

/* e to the power of -x, for 0 <= x; right to a millionth. */
static double exp_minus(double x)
{
	double y = x / 1024, e = 1 - y + y * y / 2 - y * y * y / 6;

	if (x > 30)
		return 0;
	for (int i = 0; i < 10; i++)
		e *= e;
	return e;
}

/* 1 / (1 - e^-x), which loses its digits where x is small. */
static double poisson(double x)
{
	return x < 0.001 ? 1 / x + 0.5 : 1 / (1 - exp_minus(x));
}

double mw_sample_weight(uint64_t size, uint64_t rate)
{
	if (size == 0)
		return 1;
	return rate <= 1 ? 1 : poisson((double)size / (double)rate);
}
