/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext.h - what the files of the Ruby extension share.
 *
 * The extension reads the tracker through `struct mw_api` alone. Where no
 * tracker is preloaded a table of functions that answer "nothing" takes its
 * place, so that no method needs to ask.
 *
 * Must stay true:
 *  - What C owns while Ruby code may run (blocks can raise, throw, be killed,
 *    fork, or never return at all in an abandoned Fiber) is owned by a
 *    `struct mw_result_owner`, which the GC releases at the latest.
 *  - No Ruby call between quiet_enter() and quiet_leave(), but for
 *    Mwrap.quiet, which pairs them with rb_ensure(); hush(true) is paired by hush.c alone.
 *  - Nothing here is written after Init_mwrap_ext, but under a lock (rack_site.c):
 *    methods are Ractor-safe.
 */
#ifndef MW_RUBY_EXT_H
#define MW_RUBY_EXT_H

#include <ruby.h>
#include <ruby/encoding.h>

#include "api.h"
#include "report/heap_pages.h"
#include "report/report.h"

/* The preloaded tracker, or &mw_no_tracker. Never NULL. */
extern const struct mw_api *mw_tracker;
extern const struct mw_api mw_no_tracker;

/*
 * gvl.c: calls work(arg) without the GVL: no Ruby in it. For all that may wait for another
 * thread, such as a reader for a reset: only the thread that asks waits then. Raises what is
 * pending for this thread, before the work and not after it.
 */
void mw_without_gvl(void *(*work)(void *), void *arg);
/* mw_tracker->stats and reset so. */
void mw_stats_read(struct mw_stats *);
void mw_counters_reset(void);

/* Results that are in use by Ruby code. */
struct mw_result_owner {
	struct mw_result result; /* rows; the snapshot is NULL when there is none */
	struct mw_lives *lives;
	struct mw_buf text;
	struct mw_heap_list heap; /* its heap is NULL when there is none */
	bool hushed; /* of a block that is in hush.c's count */
};

/*
 * A new, hidden owner; it must be kept on the stack (RB_GC_GUARD) while
 * *hold is in use. Raises NoMemoryError.
 */
VALUE mw_result_owner_new(struct mw_result_owner **hold);

/* Frees what is held now instead of at the next GC; may be called again. */
void mw_result_owner_release(struct mw_result_owner *hold);

/*
 * Calls work(hold, arg) with a hold of its own, and releases that however work
 * ends. A continuation may take work up again after that: it then finds
 * nothing in the hold. Returns what work returns. Raises NoMemoryError, and
 * what work raises.
 */
VALUE mw_with_result_owner(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg);

/*
 * The same, and what work allocates isn't tracked, as in Mwrap.quiet; but it belongs to
 * this Fiber, so that work may leave that for another one, or never come back.
 */
VALUE mw_with_result_owner_hushed(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg);
/* Such a block's hold is released. Calls nothing of Ruby's: the GC may call. */
void mw_hush_over(void);

/*
 * Reads the locations with more than `min` bytes, sorted as pages are, into
 * hold->result; or, if `text`, the text dump of them into hold->text.
 * Releases the GVL meanwhile. Raises NoMemoryError, and whatever is pending
 * for this thread.
 */
void mw_result_owner_read(struct mw_result_owner *hold, uint64_t min, bool text);

/* The same for the live allocations of location `id`, into hold->lives. */
void mw_result_owner_lives(struct mw_result_owner *hold, uint32_t id);

/* The same for Ruby's heap pages, into hold->heap. */
void mw_result_owner_heap(struct mw_result_owner *hold);

/* A String: UTF-8 if it is valid as that, else binary. */
VALUE mw_string(const char *p, size_t n);

/* The same, frozen and deduplicated. */
VALUE mw_location_string(const char *p, size_t n);

/*
 * A MIN argument: nil is 0. Raises TypeError for what isn't a number,
 * RangeError outside 0...2**64.
 */
uint64_t mw_min_arg(VALUE min);

NORETURN(void mw_no_memory(void));

/*
 * Calls work(arg), which may call Ruby, in quiet mode as Mwrap.quiet does, and
 * leaves that however work ends. Returns what work returns.
 */
VALUE mw_quietly(VALUE (*work)(VALUE), VALUE arg);

/*
 * The other way around: leaves quiet mode, however deep, for work(arg), and has it
 * back however that ends. For what may switch Fibers, or waits. Returns what
 * work returns.
 */
VALUE mw_loudly(VALUE (*work)(VALUE), VALUE arg);

/* Does this Ruby thread keep its native thread? From Ruby 3.4 on it does from here on, for good. */
bool mw_keeps_native_thread(void);

/* Each file's part of Init_mwrap_ext. */
void mw_init_quiet(void);
void mw_init_hush(void);
void mw_init_each(void);
void mw_init_dump(void);
void mw_init_source_location(void);
void mw_init_check(void);
void mw_init_stats(void);
void mw_init_rack(void);
void mw_init_heap_page_body(void);
void mw_init_heap_walk(void);

#endif
