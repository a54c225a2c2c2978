/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h - for test programs: functions whose allocations can be told apart,
 * and the lines by which a program says what it did.
 *
 * A program runs natively and under the tracker, and prints the same both
 * times, but for lines that start with '#':
 *
 *   expect FUNCTION ALLOCATIONS FREES TOTAL LIVE LIVE_BYTES GROWTH
 *   ok TEXT / NOT OK TEXT
 *   # PID expect ...   the same for a child, which has a dump of its own
 *   # api N            how many times it looked through struct mw_api
 */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

#include "../../src/api/api.h"

/* A function that shows up under its own name: never inlined, cloned or left by a jump. */
#ifdef __clang__
#define SITE __attribute__((noinline, used, visibility("default")))
#else
#define SITE __attribute__((noinline, noclone, used, visibility("default")))
#endif
#define STAY() __asm__ volatile("" ::: "memory")

__attribute__((unused)) static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* Sites that do nothing but allocate. */
#define MALLOC_SITE(name)               \
	SITE void *name(size_t n)       \
	{                               \
		return keep(malloc(n)); \
	}
#define REALLOC_SITE(name)                  \
	SITE void *name(void *p, size_t n)  \
	{                                   \
		return keep(realloc(p, n)); \
	}

/* Hides a value from the compiler, which would warn of absurd sizes. */
__attribute__((unused)) static inline size_t hide(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

/* In one write each, so that processes and threads can share stdout. */
__attribute__((unused, format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && write(1, text, (size_t)n) != n)
		_exit(99);
}

__attribute__((unused, format(printf, 2, 3))) static bool check(bool good, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("%s %s\n", good ? "ok" : "NOT OK", text);
	return good;
}

/* The sums that a function's rows in the dump must have. */
struct expected {
	uint64_t allocations, frees, total, live, live_bytes;
	int64_t growth;
};

__attribute__((unused)) static void expect_all(const char *function, struct expected e)
{
	say("expect %s %lu %lu %lu %lu %lu %ld\n", function, e.allocations, e.frees, e.total, e.live,
	    e.live_bytes, e.growth);
}

/* The same where nothing was reset and no fork came between. */
__attribute__((unused)) static void expect(const char *function, uint64_t allocations, uint64_t frees,
					   uint64_t total, uint64_t live_bytes)
{
	struct expected e = { allocations,         frees,      total,
			      allocations - frees, live_bytes, (int64_t)live_bytes };

	expect_all(function, e);
}

/* In a child of fork. */
__attribute__((unused)) static void expect_child(const char *function, struct expected e)
{
	say("# %d expect %s %lu %lu %lu %lu %lu %ld\n", (int)getpid(), function, e.allocations, e.frees,
	    e.total, e.live, e.live_bytes, e.growth);
}

/* Bytes of the process in memory. */
__attribute__((unused)) static size_t resident(void)
{
	char text[200] = "";
	size_t size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fgets(text, sizeof(text), f))
		(void)sscanf(text, "%zu %zu", &size, &pages);
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* NULL: running natively. */
__attribute__((unused)) static const struct mw_api *tracker(void)
{
	const struct mw_api *a = (const struct mw_api *)dlsym(RTLD_DEFAULT, "mwrap_api");

	return a && a->version == MW_API_VERSION ? a : NULL;
}

/* Does a location belong to a function? */
__attribute__((unused)) static bool is_at(const struct mw_row *r, const char *function)
{
	const char *open = strrchr(r->location, '(');
	size_t n = strlen(function);

	return open && !strncmp(open + 1, function, n) && open[1 + n] == '+';
}

/* The sum of a function's rows; n is how many there are. */
__attribute__((unused)) static struct mw_row sum_at(const struct mw_snapshot *s, const char *function,
						    size_t *n)
{
	struct mw_row sum;
	size_t i, found = 0;

	memset(&sum, 0, sizeof(sum));
	for (i = 0; s && i < s->n; i++) {
		const struct mw_row *r = &s->rows[i];

		if (function && !is_at(r, function))
			continue;
		found++;
		sum.total += r->total;
		sum.allocations += r->allocations;
		sum.frees += r->frees;
		sum.freed += r->freed;
		sum.life_sum += r->life_sum;
		if (r->life_max > sum.life_max)
			sum.life_max = r->life_max;
		sum.growth += r->growth;
		sum.live += r->live;
		sum.live_bytes += r->live_bytes;
		sum.id = r->id;
	}
	if (n)
		*n = found;
	return sum;
}
