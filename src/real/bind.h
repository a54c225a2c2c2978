/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.h - keeps preloads in front of the tracker out of the calls that liburcu makes.
 *
 * liburcu asks for the number of processors when it makes a table, by open(2), read(2) and close(2). A
 * preload in front of the tracker may interpose these, and find the real functions in its constructor, which runs
 * after ours. Those behind the tracker have run theirs. So liburcu's calls lead to the functions behind the
 * tracker, as our own do.
 */
#ifndef MW_REAL_BIND_H
#define MW_REAL_BIND_H

/*
 * Leads the calls of the object that has the address `in` there, but for functions that the tracker
 * interposes. After relocation, once, in one thread. Calls that can't be led stay as they are.
 */
void mw_bind_behind(const void *in);

#endif
