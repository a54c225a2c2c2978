/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.h - a pointer of each thread's own, for functions of a `struct mw_api` that need to know for whom they work.
 *
 * This library has no thread-local variables. It is loaded at run time, so that glibc would take their memory from
 * malloc, and free it when another thread is given the ended thread's stack. A child that is forked in between
 * frees it once more.
 */
#pragma once

#include <stdbool.h>

/* The calling thread's; NULL: none. */
void *mw_context(void);

/* Sets it, NULL in the end. False: there is no room, or no key is left in the process; it is what it was. */
bool mw_context_set(void *);
