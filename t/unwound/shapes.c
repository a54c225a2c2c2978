/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shapes.c - frames as compilers make them from C; see shapes.h. */
#include "shapes.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OTHER __attribute__((noinline))

static OTHER uint64_t plain(struct walk *w)
{
	return w->next(w) + 1;
}

/* more values than there are registers that a call keeps */
static OTHER uint64_t busy(struct walk *w)
{
	uint64_t a = some(w, 9), b = some(w, 9), c = some(w, 9), d = some(w, 9), e = some(w, 9),
		 f = some(w, 9), g = some(w, 9), h = some(w, 9), r = w->next(w);

	return (((((((r * a + b) * c + d) ^ e) * f) + g) ^ h) * a + b) ^ (c * d + e * f) ^ g;
}

static OTHER uint64_t two(struct walk *w)
{
	uint64_t a = some(w, 9), b = some(w, 9);

	return w->next(w) * a + b;
}

static OTHER uint64_t vla(struct walk *w)
{
	uint32_t n = some(w, 3000) + 1;
	volatile char a[n];

	a[n - 1] = (char)n;
	return w->next(w) + (uint64_t)a[n - 1];
}

static OTHER uint64_t with_alloca(struct walk *w)
{
	volatile char *a = NULL;
	uint32_t n = some(w, 4);

	for (uint32_t i = 0; i <= n; i++) {
		a = alloca(some(w, 200) + 1);
		a[0] = (char)i;
	}
	return w->next(w) + (uint64_t)a[0];
}

static OTHER uint64_t large(struct walk *w)
{
	volatile char a[20000];

	a[some(w, sizeof(a))] = 1;
	return w->next(w) + (uint64_t)a[17];
}

static OTHER uint64_t twelve(struct walk *w, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			     uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k)
{
	return w->next(w) + (a ^ b * c ^ d * e ^ f * g ^ h * i ^ j * k);
}

static OTHER uint64_t pushes(struct walk *w)
{
	uint64_t r = some(w, 9);

	return twelve(w, r, 2, r, 4, r, 6, r, 8, r, 10, r) + 1;
}

static OTHER uint64_t aligned(struct walk *w)
{
	volatile char a[64] __attribute__((aligned(64)));

	a[0] = (char)some(w, 9);
	return w->next(w) + (uint64_t)a[0];
}

struct sorted {
	struct walk *w;
	uint64_t r;
};

static int by_next(const void *a, const void *b, void *arg)
{
	struct sorted *s = arg;

	if (s->w) {
		struct walk *w = s->w;

		s->w = NULL; /* once */
		s->r = w->next(w) + 1;
	}
	return *(const int *)a - *(const int *)b;
}

static OTHER uint64_t by_qsort(struct walk *w)
{
	struct sorted s = { w, 0 };
	int a[40];

	for (int i = 0; i < 40; i++)
		a[i] = (int)some(w, 100);
	qsort_r(a, some(w, 38) + 2, sizeof(*a), by_next, &s);
	return s.r + (uint64_t)a[0];
}

static int found(const void *key, const void *element)
{
	struct sorted *s = *(struct sorted *const *)key;

	s->r = s->w->next(s->w) + 1;
	return element ? 0 : 1;
}

static OTHER uint64_t by_bsearch(struct walk *w)
{
	struct sorted s = { w, 0 }, *key = &s;
	int a[9] = { 0 };

	return bsearch(&key, a, 9, sizeof(*a), found) ? s.r : 0;
}

static OTHER uint64_t deep(struct walk *w, uint32_t levels)
{
	uint64_t r = levels ? deep(w, levels - 1) : w->next(w);

	HERE_AFTER(r);
	return r + levels;
}

static OTHER uint64_t recursion(struct walk *w)
{
	return deep(w, some(w, 12)) + 1;
}

/* an early return, before the frame is made */
static OTHER uint64_t early(struct walk *w, uint64_t n)
{
	if (!n)
		return w->next(w) + 3;
	for (uint64_t i = 0; i < n; i++)
		w->random += i * n;
	uint64_t r = w->next(w), s = some(w, 5);

	return r * n + s;
}

static OTHER uint64_t wraps(struct walk *w)
{
	return early(w, some(w, 3)) + 1;
}

static __attribute__((cold, noinline)) uint64_t rare(struct walk *w)
{
	return w->next(w) + 5;
}

/* a call from the part of a function that the compiler puts elsewhere */
static OTHER uint64_t cold(struct walk *w)
{
	uint64_t a = some(w, 9), b = some(w, 9);

	if (__builtin_expect(w->look != NULL, 0))
		return rare(w) * a + b;
	return a + b;
}

static OTHER uint64_t summed(struct walk *w, int n, ...)
{
	uint64_t r;
	va_list ap;

	va_start(ap, n);
	r = w->next(w);
	while (n--)
		r += va_arg(ap, uint64_t);
	va_end(ap);
	return r;
}

static OTHER uint64_t varied(struct walk *w)
{
	return summed(w, 3, (uint64_t)some(w, 9), (uint64_t)1, (uint64_t)2) + 1;
}

struct big {
	uint64_t a[6];
};

static OTHER struct big bigger(struct walk *w, struct big b)
{
	b.a[some(w, 6)] = w->next(w);
	return b;
}

static OTHER uint64_t structs(struct walk *w)
{
	struct big b = { { 1, 2, 3, 4, 5, 6 } };

	b = bigger(w, b);
	return b.a[0] + b.a[5];
}

static OTHER uint64_t floats(struct walk *w)
{
	double a = some(w, 9), b = some(w, 9) + 1.5;

	return (uint64_t)(a * b) + w->next(w) + (uint64_t)(a / b);
}

static OTHER uint64_t jumps(struct walk *w)
{
	jmp_buf b;
	volatile uint64_t r = 0;

	if (!setjmp(b)) {
		r = w->next(w);
		longjmp(b, 1);
	}
	return r + 1;
}

static OTHER uint64_t chooses(struct walk *w)
{
	switch (some(w, 5)) {
	case 0:
		return plain(w) + 1;
	case 1:
		return busy(w) + 2;
	case 2:
		return w->next(w) ^ some(w, 7);
	case 3:
		return two(w) * some(w, 3);
	}
	return w->next(w) + 4;
}

extern const struct shape_list shapes;
const struct shape_list shapes = {
	19,
	{ plain, busy, two, vla, with_alloca, large, pushes, aligned, by_qsort, by_bsearch, recursion,
	  wraps, cold, varied, structs, floats, jumps, chooses, plain }
};

/* Some compilers need an expression or another register to find this frame's CFA. */
uint64_t realigned(struct walk *w);
OTHER uint64_t realigned(struct walk *w)
{
	volatile char a[64] __attribute__((aligned(64)));
	volatile char *b = alloca(some(w, 100) + 1);

	a[0] = b[0] = 1;
	return w->next(w) + (uint64_t)a[0] + (uint64_t)b[0];
}
