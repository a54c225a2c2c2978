/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * majors.c - finds the count of major collections beside GC.count. See majors.h.
 *
 * Ruby keeps both counts in one structure, whose layout differs from version to version. Two
 * neighbours there hold the minor and the major ones, in this order; their sum is GC.count. Each
 * look drops the pairs with another sum. After STEPS different counts a single pair is left. While
 * Ruby changes the two, their sum is wrong: the last value holds.
 *
 * The structure lives as long as the VM. No word outside readable memory is read.
 */
#include "majors.h"

#include "look.h"
#include "safe_read.h"
#include "tracker/table/generation.h"

enum {
	WORD = sizeof(uintptr_t),
	NEAR = 32,       /* words before and after GC.count; a bit each in `pairs` */
	COUNT_LEAST = 4, /* smaller numbers are everywhere */
	STEPS = 3,
	MISFITS = 8      /* counts in turn at which no pair is left: it isn't there */
};

/* Of the caller whose turn it is. */
static uint64_t pairs = UINT64_MAX; /* bit i: words i and i + 1 may be the pair */
static uint32_t seen, steps, misfits;
static uint32_t majors; /* the last value */
static uint32_t before; /* the last one that was read before GC.count changed */
static bool known;

static uintptr_t load_word(const uintptr_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED); /* Ruby's threads write it */
}

static uint64_t pairs_of(const uintptr_t *words, uint32_t count)
{
	uint64_t fit = 0;

	for (int i = 0; i + 1 < 2 * NEAR; i++) {
		uintptr_t minor = load_word(&words[i]), major = load_word(&words[i + 1]);

		if (mw_ruby_adds_up(minor, major, count))
			fit |= UINT64_C(1) << i;
	}
	return fit;
}

/* A new count: which pairs are right? */
static void sift_pairs(uint64_t fit, uint32_t count)
{
	seen = count;
	if (pairs & fit) {
		pairs &= fit;
		misfits = 0;
		steps++;
	} else if (++misfits == MISFITS) {
		pairs = 0;
		known = false;
	}
}

static void look_at_pairs(const uint32_t *at)
{
	const uintptr_t *words = (const uintptr_t *)at - NEAR;
	uint32_t count = __atomic_load_n(at, __ATOMIC_RELAXED);
	uint64_t fit;

	if (!pairs || count < COUNT_LEAST || (uintptr_t)at % WORD ||
	    !mw_readable((uintptr_t)words, (size_t)2 * NEAR * WORD))
		return;
	fit = pairs_of(words, count);
	if (count != __atomic_load_n(at, __ATOMIC_RELAXED))
		return;
	if (count != seen) {
		before = majors;
		sift_pairs(fit, count);
	}
	/* one bit: */
	if (steps >= STEPS && (pairs & fit) && !(pairs & (pairs - 1))) {
		majors = (uint32_t)load_word(&words[__builtin_ctzll(pairs) + 1]);
		known = true;
	}
}

bool mw_ruby_majors(uint32_t *begun, uint32_t *done)
{
	const uint32_t *at = __atomic_load_n(&mw_clock.now, __ATOMIC_ACQUIRE);

	if (at != &mw_clock.still)
		look_at_pairs(at);
	*begun = majors;
	*done = before;
	return known;
}
