/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unit.h - the beginning of each unit test: cmocka, and main().
 *
 * TEST(name) { ... } is a test, and runs after those above it. EACH(before, after) is called around each
 * test below it, ALL(before, after) around all of them; NULL: nothing is.
 */
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

typedef void unit_fixture(void);
struct unit_around {
	unit_fixture *before, *after;
};

static struct CMUnitTest unit_tests[64];
static struct unit_around unit_each[64], unit_all;
static size_t unit_n, unit_eaches;
static char **unit_arguments; /* of the program; a NULL ends them */

static int unit_call(unit_fixture *f)
{
	if (f)
		f();
	return 0;
}

static int unit_before(void **state)
{
	return unit_call(((struct unit_around *)*state)->before);
}

static int unit_after(void **state)
{
	return unit_call(((struct unit_around *)*state)->after);
}

static int unit_before_all(void **state)
{
	(void)state;
	return unit_call(unit_all.before);
}

static int unit_after_all(void **state)
{
	(void)state;
	return unit_call(unit_all.after);
}

static inline void unit_add(const char *name, CMUnitTestFunction f)
{
	if (unit_n == sizeof(unit_tests) / sizeof(*unit_tests))
		abort();
	unit_tests[unit_n++] =
		(struct CMUnitTest){ name, f, unit_before, unit_after, &unit_each[unit_eaches] };
}

#define UNIT_FIRST(name) __attribute__((constructor)) static void name(void)
#define UNIT_JOIN(a, b) UNIT_JOIN_(a, b)
#define UNIT_JOIN_(a, b) a##b
#define TEST(name)                             \
	static void name(void **);             \
	UNIT_FIRST(UNIT_JOIN(unit_add_, name)) \
	{                                      \
		unit_add(#name, name);         \
	}                                      \
	static void name(__attribute__((unused)) void **unit_state)
#define EACH(f, g)                                                       \
	UNIT_FIRST(UNIT_JOIN(unit_each_, __LINE__))                      \
	{                                                                \
		unit_each[++unit_eaches] = (struct unit_around){ f, g }; \
	}                                                                \
	struct unit_around
#define ALL(f, g)                                        \
	UNIT_FIRST(UNIT_JOIN(unit_all_, __LINE__))       \
	{                                                \
		unit_all = (struct unit_around){ f, g }; \
	}                                                \
	struct unit_around

/*
 * How often a test by chance is repeated. With assertions all of n: that finds wrong results. With AddressSanitizer each
 * turn costs five times as much, and a quarter of them reaches the same code.
 */
#ifdef __SANITIZE_ADDRESS__
#define UNIT_TIMES(n) (((n) + 3) / 4)
#else
#define UNIT_TIMES(n) (n)
#endif

/* The seed of a test's random numbers: SEED of the environment, or another one each time. It is printed. */
static inline uint64_t unit_seed(void)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u + 1;

	printf("# SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	return seed;
}

int main(int argc, char **argv)
{
	unit_arguments = argv + (argc > 0);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("tests", unit_tests, unit_n, unit_before_all, unit_after_all);
}
