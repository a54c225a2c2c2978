/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shapes.h - functions whose frames differ in every way that compilers make them, for
 * t/unit/test_unwind.c. shapes.c and shapes_cxx.cc are built by several compilers with several
 * options, each into a library that has `shapes`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct walk {
	/* Goes deeper: calls another shape, or at the bottom whatever looks at the stack. */
	uint64_t (*next)(struct walk *);
	void (*look)(struct walk *);
	uint64_t random;
	unsigned left;
	void *looked; /* of look() */
};

typedef uint64_t (*shape)(struct walk *);

static inline uint32_t some(struct walk *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->random >> 33) % below;
}

/* Keeps a compiler from making a loop of a recursion. */
#define HERE_AFTER(r) __asm__ volatile("" : "+r"(r))

struct shape_list {
	size_t n;
	shape of[32];
};
