/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - the life of Ruby's VM, and the way its lines are found.
 *
 * It lies between state.c, which has the way, vm.c, which chooses it, and lines.c, which looks lines up.
 *
 * STARTING until a frame of Ruby code is seen and the self-check holds; then FAST, or JIT
 * as soon as ZJIT may run. PUBLIC, for good, if it never holds, or something was wrong later. ENDED
 * once the VM has gone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Functions of the rooms above, given to mw_ruby_init.
 *
 * thread   returns the calling thread's shard, or NULL: it has none, or is busy or quiet
 * changed  called after a change of how lines are found, or GC.count is read; any thread, no lock
 * up       called once, when the VM is up: in a Ruby thread, which may call Ruby
 */
struct mw_shard;
struct mw_ruby_above {
	struct mw_shard *(*thread)(void);
	void (*changed)(void);
	void (*up)(void);
};
extern const struct mw_ruby_above *mw_ruby_above; /* written before main */

/* vm.c, at load: is Ruby in this process? Then mw_ruby.how is STARTING. */
void mw_ruby_init(const struct mw_ruby_above *);
/* For `up`: from now on the tracker sees the VM's end. Ruby allocates in this call. */
void mw_ruby_await_end(void);

/* vm.c, while STARTING: tries to start. False: the VM isn't up, or can't be asked here and now. */
bool mw_ruby_look_for_vm(void);
/* For vm.c: STARTING or what follows it. */
void mw_ruby_becomes(uint32_t how);
/* From FAST or JIT to PUBLIC; why: a text that stays. Any thread. */
void mw_ruby_go_public(const char *why);
/* A JIT reserves memory for its code: from FAST to JIT if it may be ZJIT, before that pushes a frame. Any thread. */
void mw_ruby_jit_begins(void);
/* Has a JIT reserved memory? */
bool mw_jit_may_run(void);
/* From FAST to JIT or back, as what runs needs it. True: to JIT, so this thread's frames are to be read again. */
bool mw_ruby_look_for_jit(void);
/* The address of GC.count from now on; NULL: none, rb_gc_count() is called. */
void mw_ruby_use_count(const uint32_t *count);

/* Jobs that Ruby runs at a safe point of its own, in a Ruby thread with the GVL. */
enum mw_ruby_job { MW_RUBY_AT_START, MW_RUBY_AFTER_BLOCKING, MW_RUBY_WHEN_DOUBTED, MW_RUBY_JOBS };
/* For vm.c: what a job runs, before main; then, once and with the GVL, tells Ruby of all of them. */
void mw_ruby_job_runs(enum mw_ruby_job, void (*run)(void *));
void mw_ruby_jobs_prepare(void);
/* Asks Ruby to run a job. Any thread, also without the GVL. */
void mw_ruby_ask_for(enum mw_ruby_job);

/*
 * The same for any function, which gets NULL; for threads that aren't Ruby's, and for Ruby's hooks. False: Ruby takes no
 * jobs, or its code has ended.
 */
bool mw_ruby_ask(void (*run)(void *));
/* api.h: while_ruby */
bool mw_ruby_while(void (*f)(void *), void *ctx);

/* The jobs of lines.c; the argument is NULL. */
void mw_ruby_look_here(void *);
void mw_ruby_look_again(void *);
