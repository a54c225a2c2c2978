/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_vm.h - Ruby's VM comes up and ends, and which way its lines are found:
 * between ruby_vm.c, which decides, and ruby.c, which looks them up.
 *
 * STARTING until a frame of Ruby code is seen and the self-check holds; then
 * FAST. PUBLIC where it never does, or when something was wrong later, for
 * good. ENDED once the VM has gone.
 */
#ifndef MW_TRACK_RUBY_VM_H
#define MW_TRACK_RUBY_VM_H

#include <stdbool.h>
#include <stdint.h>

/* While STARTING: tries to start. False: the VM isn't up, or can't be asked here and now. */
bool mw_ruby_look_for_vm(void);
/* From FAST to PUBLIC; why: a text that stays. Any thread. */
void mw_ruby_go_public(const char *why);
/* Where GC.count is to be read from now on; NULL: nowhere, it is asked for. */
void mw_ruby_use_count(const uint32_t *count);

/* What Ruby is asked to call at a safe point of its own, in a Ruby thread with the GVL. */
enum mw_ruby_job { MW_RUBY_AT_START, MW_RUBY_AFTER_BLOCKING, MW_RUBY_WHEN_DOUBTED };
/* Any thread, also without the GVL. */
void mw_ruby_ask_for(enum mw_ruby_job);

/* The jobs of ruby.c; the argument is NULL. */
void mw_ruby_look_here(void *);
void mw_ruby_look_again(void *);

#endif
