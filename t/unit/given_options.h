/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * given_options.h - a text as $MWRAP has it, parsed, and what was made of it. For
 * the tests of options.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../src/shared/options/options.h"

static struct mw_options o;
static char err[MW_ERROR_MAX];

/* err is always one printable line that fits. */
static inline bool parse(const char *env)
{
	bool ok;

	memset(&o, 0xaa, sizeof(o));
	memset(err, 0xaa, sizeof(err));
	errno = 4242;
	ok = mw_options_parse(&o, env, err);
	assert_int_equal(errno, 4242);
	assert_non_null(memchr(err, 0, sizeof(err)));
	assert_int_equal(ok, err[0] == 0);
	for (const char *s = err; *s; s++)
		assert_in_range(*s, 0x20, 0x7e);
	return ok;
}

static inline void right(const char *env)
{
	if (!parse(env))
		fail_msg("refused: %s", err);
}

static inline void refused(const char *env, const char *message)
{
	assert_false(parse(env));
	assert_string_equal(err, message);
}

/* `before` and one wrong value of a key, which is shown as it is. */
static inline void refused_value(const char *before, const char *key, const char *value, const char *why)
{
	char env[160], want[MW_ERROR_MAX];

	snprintf(env, sizeof(env), "%s%s:%s", before, key, value);
	snprintf(want, sizeof(want), "%s: \"%s\" %s", key, value, why);
	refused(env, want);
}
