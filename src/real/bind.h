/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.h - keeps other preloads out of the calls that liburcu makes.
 *
 * liburcu asks for the number of processors when it makes a table, by open(2), read(2) and close(2). Another
 * preload may interpose these, and find the real functions in its constructor. That may not have run yet, since
 * the first call of malloc makes the tables. So liburcu's calls lead straight to the C library.
 */
#ifndef MW_REAL_BIND_H
#define MW_REAL_BIND_H

/*
 * Leads the calls of the object that has the address `in` there, but for functions that the tracker
 * interposes. After relocation, once, in one thread. Calls that can't be led stay as they are. It
 * doesn't call the linker.
 */
void mw_bind_to_libc(const void *in);

#endif
