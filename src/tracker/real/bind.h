/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.h - keeps other preloads out of the calls that the tracker and liburcu make.
 *
 * Another preload may interpose functions of the C library, and find the real ones in its constructor. The
 * first call of malloc, with which the tracker begins, may come before that: then a call of such a
 * function crashes. So the calls of these two objects lead straight to the C library.
 */
#pragma once

#include <stddef.h>

/*
 * Leads the tracker's calls to the C library, but for functions that it interposes, and those of files: before
 * anything else.
 * Calls that can't be led stay as they are. It calls neither the linker nor the C library. A second
 * call does nothing.
 */
void mw_bind_self(void);
/*
 * The same for the object that has the address `in`; its calls of calloc lead to the one that is given. After
 * mw_bind_self and relocation, once, in one thread.
 */
void mw_bind_to_libc(const void *in, void *(*calloc_for_it)(size_t, size_t));
