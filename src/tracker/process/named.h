/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - is this the program that the user named, and may it have threads of ours?
 *
 * Some programs need to be single-threaded: the kernel refuses unshare(2) of a user namespace
 * to a process with two threads, Chromium's zygotes abort, Python warns at fork. A Ruby process
 * has threads anyway. So our threads run in the program of the command line, in each process
 * with Ruby, and, if the option `children` is given, in the others that a tracked process starts.
 *
 * The launcher names the program's process in $MWRAP_PID: "PID.START", its PID and its start
 * time (field 22 of /proc/PID/stat). Exec keeps both. The start time matters because another
 * process may have that PID in another PID namespace. Without the variable, somebody preloaded
 * the tracker by hand: then the program is any process whose parent has no tracker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True in that program, or one that it exec'ed. Allocates nothing, keeps errno. At load only. */
bool mw_named(void);

/* At load, after the options and the search for Ruby, and when a server is asked for later. Forked children keep the answer. */
void mw_threads_decide(void);
/* After that: may this process have threads of ours? */
bool mw_may_have_threads(void);
