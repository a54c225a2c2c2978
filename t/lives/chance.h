/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chance.h - numbers by chance, the same ones for the same seed on every machine. */
#ifndef LIVES_CHANCE_H
#define LIVES_CHANCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chance {
	uint64_t state;
};

static inline uint64_t chance_bits(struct chance *c)
{
	uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to 1 */
static inline double chance_unit(struct chance *c)
{
	return (double)(chance_bits(c) >> 11) / (double)(1ull << 53);
}

static inline double chance_between(struct chance *c, double a, double b)
{
	return a + (b - a) * chance_unit(c);
}

/* Each order of magnitude is as likely as the next one. */
static inline double chance_scale(struct chance *c, double a, double b)
{
	return a * pow(b / a, chance_unit(c));
}

static inline size_t chance_below(struct chance *c, size_t n)
{
	return (size_t)(chance_unit(c) * (double)n);
}

static inline bool chance_is(struct chance *c, double p)
{
	return chance_unit(c) < p;
}

#endif
