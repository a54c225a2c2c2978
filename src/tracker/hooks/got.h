/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * got.h - leads the calls of a running process to the hooks, and back.
 *
 * An entry is a word in which the dynamic linker put a function's address: for the calls of an object
 * (JUMP_SLOT, GLOB_DAT), or in its initialised data. In a process that began with the tracker
 * preloaded, entries lead to the hooks from the start. In one that loaded it later
 * (mw_real_joined) a pass over all objects changes them: the C library's and our own, too, not those of
 * the dynamic linker, which has its own allocator.
 *
 *  - An entry counts by its value: that of the real function. So it counts if another symbol led there,
 *    and it doesn't if the object has a function of its own of that name. An entry for lazy binding that
 *    isn't bound yet has an address in its own object: only there the symbol's name counts.
 *  - Each change is one aligned store. A call under way goes on with the function that it read.
 *  - An entry that the linker made read-only is read-only again after the pass.
 *  - An object that the linker hasn't relocated yet isn't known to _dl_find_object(3): it waits for the
 *    next pass.
 *  - The linker may bind an entry at the very moment of a pass, and overwrite it. So there are two
 *    passes, and one more whenever libraries were loaded.
 *  - Addresses that the app copied, as in a struct of its own that it filled in at run time, lead where
 *    they did, after a pass in either direction. So hooks are called after mw_got_to_real, too.
 *
 * Threads: any, one at a time; the app's go on. Lock order: a fork's step (own_thread.h), then the
 * linker's lock on its list of objects, which a pass holds. It allocates nothing meanwhile, and
 * doesn't call the linker. The caller is quiet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Leads all entries to the hooks. `in`: an address in the object that must get there with its malloc
 * and free. False: it doesn't, and no entry leads to a hook.
 */
bool mw_got_to_hooks(const void *in);
/* Leads them back. */
void mw_got_to_real(void);
/* The same as the last of these for libraries that were loaded since. Cheap if there are none. */
void mw_got_catch_up(void);

/* Around the real fork, as the steps of own_thread.h. */
void mw_got_before_fork(uint64_t until);
void mw_got_after_fork(int child);
