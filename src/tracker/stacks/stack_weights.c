/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack_weights.c - how many blocks a sampled one stands for; see stacks_read.h. */
#include "tracker/table/generation.h"
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

/*
 * Without Ruby (sample.h): a step of 0 to MW_CLOCK_STEP bytes ends in a block of x steps with the
 * chance 2x - x*x/2, if the block is smaller than a step. The step counts, of half a step on
 * average, or the block and what came before it.
 */
static double weight_in_steps(uint64_t size, uint64_t rate)
{
	double step = MW_CLOCK_STEP, x = (double)size / step;
	double counts = x < 1. / 6 ? step / 2 : step / 3 + (double)size;

	return (x < 1 ? 1 / (2 * x - x * x / 2 + 1e-9) : 1) * poisson(counts / (double)rate);
}

double mw_sample_weight(uint64_t size, uint64_t rate)
{
	if (size == 0)
		return 1;
	if (mw_clock.in_bytes && !(rate & MW_RATE_POISSON))
		return weight_in_steps(size, rate);
	rate &= ~MW_RATE_POISSON;
	return rate <= 1 ? 1 : poisson((double)size / (double)rate);
}
