/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * globals.h - the values of Ruby's global variables, with their names. Ruby's list of roots has the values alone.
 *
 * The parent asks Ruby for them before the fork, since that allocates. Variables of Ruby's own are left out: some
 * compute a value, and $FILENAME would open a file.
 */
#pragma once

#include "ruby.h"

enum { MW_GLOBALS = 1000 }; /* more aren't known */

struct mw_globals {
	uint32_t n;
	struct {
		mw_ruby_value value;
		uintptr_t id;
	} v[MW_GLOBALS];
};

/* In the parent, with the GVL. The collector may run. */
void mw_globals_read(struct mw_globals *);
/* In the child: "$name", which lives as long as Ruby; NULL: no variable is known to have that value. */
const char *mw_global_name(const struct mw_globals *, mw_ruby_value);
