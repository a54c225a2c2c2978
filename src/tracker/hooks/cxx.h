/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cxx.h - the operators new and delete beneath ours. */
#pragma once

#include <stdint.h>

/*
 * The next function of that name, or NULL. Looks in libraries, too: the standard library may be in a
 * plugin's private scope. caller: an address in code that calls it; 0: none is known.
 */
void *mw_cxx_next(const char *name, uintptr_t caller);
