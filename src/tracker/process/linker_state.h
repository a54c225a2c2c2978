/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linker_state.h - what the dynamic linker can still do in a process that was forked while another thread of the
 * parent loaded or unloaded a library. Its lists may be half changed there for ever, or one of its locks be held.
 *
 * The first two are called around a fork, by the thread that forks; the others by any thread, in quiet mode.
 */
#pragma once

#include <stdbool.h>

/* Last of what is done before a fork, so that hardly any load can begin behind it. */
void mw_linker_before_fork(void);
void mw_linker_after_fork_child(void);

/* False: dlopen would end this process, or wait in it. */
bool mw_linker_loads(void);
/*
 * False: a thread would end this process, as glibc's tables of thread-local variables are half written. The answer
 * holds for good. If it isn't known, a copy of this process begins a thread first: once, for a second at most.
 */
bool mw_linker_starts_threads(void);
