/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exported.h - names of functions that a library exports, by its table of symbols in memory.
 *
 * The file may be overwritten in place while it is mapped: a deploy does so by cp. Its pages then have other contents, or
 * are gone if the file is shorter, and reading one of these ends the process. dladdr(3) doesn't reckon with either. So each
 * page is asked for before it is read, and each offset is compared with its table's size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_object;

/*
 * A function's name as it is shown. C++ has names of 60 KB, which differ at their end: of such a one the middle is
 * left out.
 */
enum { MW_NAME_MOST = 1000 };
struct mw_name {
	char text[MW_NAME_MOST];
};
void mw_name_fit(struct mw_name *, const char *, size_t n);

/*
 * The exported function, or variable, that has the address, and where it begins. False: there is none. The caller
 * keeps the library meanwhile (closes.h). Takes no lock.
 */
bool mw_exported(const struct mw_object *, uintptr_t address, struct mw_name *, uintptr_t *at);
