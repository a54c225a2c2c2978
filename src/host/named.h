/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - is this the program that the user named, and may it have threads of ours?
 *
 * A program may insist on having one thread: unshare(2) of a user namespace is refused to a
 * process with two, Chromium's zygotes abort, Python warns at fork. Where Ruby is, there are
 * threads anyway. So what a tracked process starts has none of ours by itself, unless Ruby is
 * in it or the option `children` asks for them; the program of the command line has.
 *
 * The launcher says which process that is in $MWRAP_PID: "PID.START", its number and when it
 * started (field 22 of /proc/PID/stat), which exec keeps; in another PID namespace another
 * process may have that number. Without the variable the tracker was preloaded by
 * hand: then it is a process whose parent has no tracker.
 */
#ifndef MW_HOST_NAMED_H
#define MW_HOST_NAMED_H

#include <stdbool.h>

/* The program that the user named, or one that it exec'ed. Allocates nothing; keeps errno. At load only. */
bool mw_named(void);

/* Once at load, when the options are known and Ruby was looked for. Forked children keep the answer. */
void mw_threads_decide(void);
/* May this process have threads of ours? */
bool mw_threads_allowed(void);

#endif
