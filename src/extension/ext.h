/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext.h - shared by the files of the Ruby extension.
 *
 * The extension reads the tracker through `struct mw_api` alone. Without a tracker, a table of functions that answer "nothing" replaces it, so no method needs to ask.
 *
 * Must stay true:
 *  - A `struct mw_result_owner` owns what C holds while Ruby code may run; the GC releases it at
 *    the latest. Blocks can raise, throw, be killed, fork, or never return in an abandoned Fiber.
 *  - No Ruby call between quiet_enter() and quiet_leave(), except in Mwrap.quiet, which pairs them
 *    with rb_ensure(). hush.c alone pairs hush(true).
 *  - Nothing here is written after Init_mwrap_ext, except under a lock (rack_site.c), by start.c or
 *    atomically: methods are Ractor-safe.
 *  - Code of the server's is called through mw_offers (offered.h). Linked in, it would be in a process twice.
 */
#pragma once

#include <ruby.h>
#include <ruby/encoding.h>

#include "api/api.h"
#include "shared/report/heap_page_rows.h"
#include "shared/report/profile.h"
#include "shared/report/report.h"

/*
 * The preloaded tracker, that of Mwrap.start, or &mw_no_tracker. Never NULL. Mwrap.start changes it,
 * once, from the last of these: what one of them returned must be given back to the same one.
 */
extern const struct mw_api *mw_tracker;
void mw_tracker_is(const struct mw_api *);
extern const struct mw_api mw_no_tracker;

/*
 * gvl.c: calls work(arg) without the GVL; work must not call Ruby. For work that may wait for
 * another thread, such as a reader for a reset: then only the calling thread waits. Raises what is
 * pending for this thread before the work, never after it.
 */
void mw_without_gvl(void *(*work)(void *), void *arg);
/* Call mw_tracker's stats and reset without the GVL. */
void mw_stats_read(struct mw_stats *);
void mw_counters_reset(void);

/* The findings of a walk over Ruby's heap. */
struct mw_seen {
	struct mw_buf objects; /* words: the objects among them neither die nor move */
	struct mw_buf index, rows;
	bool walking; /* `objects` is being filled, and the walk must not see it */
};

/* Owns results that Ruby code is using. */
struct mw_result_owner {
	const struct mw_api *of; /* the tracker that they are from; NULL: there are none */
	struct mw_result result; /* rows; its snapshot is NULL: none */
	struct mw_lives *lives;
	struct mw_buf text;
	struct mw_seen *seen; /* NULL: none */
	struct mw_heap_list heap; /* its heap is NULL: none */
	struct mw_profile *profile; /* NULL: none */
	struct mw_row *labels; /* of the profile */
	size_t labels_n;
	struct mw_search *search; /* offered.h; NULL: none */
	bool hushed; /* its block is in hush.c's count */
};

/*
 * Makes a hidden result owner. Keep it on the stack (RB_GC_GUARD) while *hold is in use. Raises
 * NoMemoryError.
 */
VALUE mw_result_owner_new(struct mw_result_owner **hold);
/* An empty hold->seen. Raises NoMemoryError. */
struct mw_seen *mw_result_owner_sees(struct mw_result_owner *hold);

/* Frees the results now instead of at the next GC; may be called again. */
void mw_result_owner_release(struct mw_result_owner *hold);

/*
 * Calls work(hold, arg) with a result owner of its own, which it releases however work ends. A
 * continuation may re-enter work after that, and then finds the owner empty. Returns what work
 * returns. Raises NoMemoryError, and what work raises.
 */
VALUE mw_with_result_owner(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg);

/*
 * The same, but what work allocates isn't tracked, as in Mwrap.quiet. That holds for this Fiber
 * only: work may switch to another one, or never return.
 */
VALUE mw_with_result_owner_hushed(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg);
/* A hushed block's owner was released. Calls no Ruby: the GC may call it. */
void mw_hush_over(void);

/*
 * Reads the locations with more than `min` bytes, sorted as pages are, into hold->result. If
 * `text`, reads the text dump of them into hold->text instead. Releases the GVL meanwhile. Raises
 * NoMemoryError, and what is pending for this thread.
 */
void mw_result_owner_read(struct mw_result_owner *hold, uint64_t min, bool text);

/* The same for the live allocations of location `id`, into hold->lives. */
void mw_result_owner_lives(struct mw_result_owner *hold, uint32_t id);

/* The same for Ruby's heap pages, into hold->heap. */
void mw_result_owner_heap(struct mw_result_owner *hold);

/* The same for the stacks, those with the most bytes first, into hold->profile. */
void mw_result_owner_profile(struct mw_result_owner *hold, enum mw_profile_by by);

/* The same by label, into hold->labels. */
void mw_result_owner_labels(struct mw_result_owner *hold);

/* Makes a String: UTF-8 if it is valid as that, else binary. */
VALUE mw_string(const char *p, size_t n);

/* The same, frozen and deduplicated. */
VALUE mw_location_string(const char *p, size_t n);

/*
 * Converts a MIN argument; nil is 0. Raises TypeError if it isn't a number, RangeError outside
 * 0...2**64.
 */
uint64_t mw_min_arg(VALUE min);

NORETURN(void mw_no_memory(void));

/*
 * Calls work(arg), which may call Ruby, in quiet mode as Mwrap.quiet does, and leaves quiet mode
 * however work ends. Returns what work returns.
 */
VALUE mw_quietly(VALUE (*work)(VALUE), VALUE arg);

/*
 * The reverse: leaves quiet mode, at any depth, for work(arg), and restores it however work ends.
 * For work that may switch Fibers or wait. Returns what work returns.
 */
VALUE mw_loudly(VALUE (*work)(VALUE), VALUE arg);

/*
 * True if this Ruby thread keeps its native thread. On Ruby 3.4 and later this call binds it for
 * good.
 */
bool mw_keeps_native_thread(void);

/*
 * start.c: mwrapctl(1) has sent its signal. Does what it asks for, and answers it, if it asks
 * (shared/sys/request.h). In a Ruby thread with the GVL, the main Ractor's.
 */
void mw_start_asked(void);
/* A library of the gem in a process without a tracker. NULL: a line in err. */
void *mw_load_untracked(const char *name, char err[MW_ERROR_MAX]);

/* Each file's part of Init_mwrap_ext. */
void mw_init_quiet(void);
void mw_init_hush(void);
void mw_init_label(void);
void mw_init_each(void);
void mw_init_live_counts(void);
void mw_init_dump(void);
void mw_init_source_location(void);
void mw_init_check(void);
void mw_init_stats(void);
void mw_init_stacks(void);
void mw_init_start(void);
void mw_init_holders(void);
void mw_init_asked(void);
void mw_init_rack(void);
void mw_init_heap_page_body(void);
void mw_init_heap_walk(void);
void mw_init_heap_counts(void);
void mw_init_heap_stacks(void);
void mw_init_heap_find(void);
void mw_init_heap_ids(void);
