/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - Ruby's VM comes up and ends, and which way its lines are found:
 * between state.c, which decides, and lines.c, which looks them up.
 *
 * STARTING until a frame of Ruby code is seen and the self-check holds; then
 * FAST. PUBLIC where it never does, or when something was wrong later, for
 * good. ENDED once the VM has gone.
 */
#ifndef MW_CALLER_RUBY_STATE_H
#define MW_CALLER_RUBY_STATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the rooms above do when something changes here; given to mw_ruby_init.
 *
 * thread   the calling thread's state, or NULL: it has none, or is busy or quiet
 * changed  how lines are found, or GC.count is read; any thread, no lock held
 * up       once, when the VM is up: in a Ruby thread, which may call Ruby
 */
struct mw_shard;
struct mw_ruby_above {
	struct mw_shard *(*thread)(void);
	void (*changed)(void);
	void (*up)(void);
};
extern const struct mw_ruby_above *mw_ruby_above; /* written before main */

/* At load: is Ruby in this process? Then mw_ruby.how is STARTING. */
void mw_ruby_init(const struct mw_ruby_above *);
/* By `up`: from now on the VM's end is seen. Ruby allocates for that. */
void mw_ruby_await_end(void);

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

/* The jobs of lines.c; the argument is NULL. */
void mw_ruby_look_here(void *);
void mw_ruby_look_again(void *);

#endif
