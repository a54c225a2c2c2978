/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holders.c - Mwrap.holders.
 *
 * A result owner has the child while Ruby code may run, so an exception ends it.
 */
#include "offered.h"

#include <string.h>

#include <ruby/thread.h>

static VALUE busy_error, unavailable_error, failed_error;
static ID id_holder, id_by, id_blocks, id_bytes, id_objects, id_object_bytes, id_both, id_of, id_since,
	id_paths, id_path;

struct question {
	VALUE location; /* a frozen String, or nil */
	bool blocks, objects; /* rows of which are wanted */
	uint64_t since; /* a generation; 0: blocks of all */
	struct mw_result_owner *hold;
	struct mw_holders_child child;
	struct mw_holders answer;
	enum mw_holders_is is;
	uint32_t stop; /* relaxed: by another thread */
	bool ran;
	char err[MW_HOLDERS_ERROR];
};

NORETURN(static void raise_holders_error(const struct question *q));
static void raise_holders_error(const struct question *q)
{
	VALUE error = q->is == MW_HOLDERS_BUSY    ? busy_error :
		      q->is == MW_HOLDERS_UNKNOWN ? unavailable_error :
						    failed_error;

	rb_raise(error, "%s", q->err);
}

/* --- which locations --------------------------------------------------------------- */

/* The ids of the location, into hold->text; false: there is no such location. */
static bool find_ids(struct mw_result_owner *hold, VALUE location)
{
	const struct mw_row *row;

	mw_result_owner_read(hold, 0, false);
	row = mw_location_find(hold->result.snapshot, RSTRING_PTR(location), (size_t)RSTRING_LEN(location));
	if (!row)
		return false;
	mw_tracker->quiet_enter();
	mw_location_ids(hold->result.snapshot, row, &hold->text);
	mw_tracker->quiet_leave();
	if (hold->text.failed)
		mw_no_memory();
	return true;
}

/* --- asking --------------------------------------------------------------------------- */

static void *wait_for_child(void *p)
{
	struct question *q = p;

	q->ran = true;
	q->hold->of->quiet_enter();
	q->is = mw_offers->holders_end(&q->child, q->hold->of, &q->stop, &q->answer, q->err);
	q->hold->of->quiet_leave();
	return NULL;
}

static void interrupt(void *p)
{
	__atomic_store_n(&((struct question *)p)->stop, 1, __ATOMIC_RELAXED);
}

/* The child is hold's while Ruby code may run, and ours while it is waited for. */
static void wait_without_gvl(struct question *q)
{
	do {
		q->ran = false;
		q->stop = 0;
		q->child = q->hold->search->child;
		/* async-safe: else Ruby would start a thread for it */
		rb_nogvl(wait_for_child, q, interrupt, q, RB_NOGVL_UBF_ASYNC_SAFE | RB_NOGVL_INTR_FAIL);
		if (q->ran)
			q->hold->search->child = q->child;
		if (!q->ran || q->is == MW_HOLDERS_AGAIN)
			rb_thread_check_ints(); /* may raise */
	} while (!q->ran || q->is == MW_HOLDERS_AGAIN);
	q->hold->search->answer = q->answer;
}

static VALUE row_hash(const struct mw_holder *h)
{
	VALUE row = rb_hash_new(), path = rb_ary_new_capa((long)h->n_path);

	for (size_t i = 0; i < h->n_path; i++)
		rb_ary_push(path, mw_location_string(h->path[i], strlen(h->path[i])));
	rb_hash_aset(row, ID2SYM(id_holder), mw_location_string(h->holder, strlen(h->holder)));
	rb_hash_aset(row, ID2SYM(id_by), ID2SYM(rb_intern(mw_offers->held_by_name(h->by))));
	rb_hash_aset(row, ID2SYM(h->objects ? id_objects : id_blocks), ULL2NUM(h->blocks));
	rb_hash_aset(row, ID2SYM(h->objects ? id_object_bytes : id_bytes), ULL2NUM(h->bytes));
	rb_hash_aset(row, ID2SYM(id_path), path);
	rb_hash_aset(row, ID2SYM(id_paths), ULL2NUM(h->paths));
	return row;
}

static VALUE rows_of(struct mw_result_owner *hold, void *arg)
{
	struct question *q = arg;
	bool all = NIL_P(q->location);
	struct mw_holders_question ask = { 0 };
	VALUE rows = rb_ary_new();

	q->hold = hold;
	hold->of = mw_tracker;
	if (!all && !find_ids(hold, q->location))
		return rows;
	hold->of->quiet_enter();
	hold->search = calloc(1, sizeof(*hold->search));
	ask.ids = all ? NULL : (const uint32_t *)(void *)hold->text.p;
	ask.n = hold->text.n / sizeof(*ask.ids);
	ask.old = q->since;
	ask.young = q->since > 0;
	ask.objects = q->objects ? mw_offers->objects_for_holders : NULL;
	if (hold->search)
		q->is = mw_offers->holders_begin(&hold->search->child, hold->of, &ask, q->err);
	hold->of->quiet_leave();
	if (!hold->search)
		mw_no_memory();
	if (q->is == MW_HOLDERS_OK)
		wait_without_gvl(q);
	if (q->is != MW_HOLDERS_OK)
		raise_holders_error(q);
	for (size_t i = 0; i < hold->search->answer.n; i++) {
		const struct mw_holder *h = &hold->search->answer.rows[i];

		if (h->objects ? q->objects : q->blocks)
			rb_ary_push(rows, row_hash(h));
	}
	return rows;
}

static void take_of(struct question *q, VALUE of)
{
	ID id = SYMBOL_P(of) ? SYM2ID(of) : 0;

	q->blocks = id == id_blocks || id == id_both;
	q->objects = id == id_objects || id == id_both;
	if (!q->blocks && !q->objects)
		rb_raise(rb_eArgError,
			 "of: %+" PRIsVALUE " isn't known: give :blocks, :objects or :both", of);
}

static void take_since(struct question *q, VALUE since)
{
	long long generation = NUM2LL(since);

	if (generation < 0)
		rb_raise(rb_eArgError, "since: %lld isn't a generation", generation);
	if (NIL_P(q->location) || q->objects)
		rb_raise(rb_eArgError, "since: goes with the blocks of a location alone");
	q->since = (uint64_t)generation;
}

/*
 * call-seq: Mwrap.holders(location = nil, of: :blocks, since: 0) -> [{ holder:, by:, blocks:, bytes:, path:, paths: }, ...]
 *
 * Returns what holds the blocks that are live at +location+, a String as Mwrap[] takes it, the most
 * blocks first. Without it: what holds all live blocks, the most bytes first.
 *
 * holder:: a frozen String: the class of the Ruby object that has them; what Ruby has for itself, such
 *          as <tt>"(instruction sequence)"</tt>; a library's file name; <tt>"(thread stack)"</tt>;
 *          <tt>"(nothing)"</tt>
 * by::     +:ruby+, an object that Ruby's roots reach; +:native+, a library's variable or a thread's
 *          stack; +:garbage+, an object that the next collection frees; +:nothing+: a native leak
 * blocks:: their number
 * bytes::  their bytes
 * path::   an Array of frozen Strings, from the root to the holder: the path that most of these blocks
 *          have. Empty for +:garbage+ and +:nothing+, and without +location+
 * paths::  how many different paths there are: 0 if there are too many to tell, and without +location+
 *
 * With <tt>of: :objects</tt> the rows are of the Ruby objects that +location+ made and that stay, the most first: with
 * +objects+ and +object_bytes+ instead of +blocks+ and +bytes+. The holder is the object that refers to them. They are
 * estimated from samples: how many, SourceLocation#object_samples says. Without samples, and without +location+, there
 * are none. With <tt>of: :both</tt> the rows of objects come after those of blocks.
 *
 *   Mwrap.holders("app.rb:3", of: :objects).first
 *   # => { holder: "Array", by: :ruby, objects: 306_704, object_bytes: 12_268_160,
 *   #      path: ["vm", "Object::Registry", "Registry.@records", "Array"], paths: 1 }
 *
 * A block is held by the object that points to it or to a block that leads to it. It counts once.
 * Names of classes, variables and locations are shown, contents never.
 *
 *   Mwrap.holders("app.rb:7").first
 *   # => { holder: "String", by: :ruby, blocks: 3000, bytes: 3_072_000,
 *   #      path: ["vm", "Object::Registry", "Registry::SESSIONS", "Hash", "Session.@body", "String"], paths: 1 }
 *
 * With +since+, a generation, only blocks count that were allocated in it or later: <tt>Mwrap.stats[:generation]</tt> is
 * the current one. It goes with the blocks of a +location+ alone.
 *
 * A forked child computes it, so Ruby's threads stand still for the fork only: some 10 ms for a
 * million objects. The caller waits for half a second for a million objects, during which other threads
 * run. No fork handler runs, and no Process.wait sees the child. One leaked block of a thousand
 * may count as held, because some word looks like its address. In a process that called
 * Mwrap.start, blocks from before aren't known: what only they lead to counts as held by nothing.
 *
 * The Array is empty if nothing was allocated at +location+, and without the tracker.
 *
 * Raises TypeError if +location+ isn't a String; ArgumentError for another +of+ or +since+; Mwrap::Objects::Busy while another call is under way;
 * Mwrap::Objects::Unavailable if this Ruby lacks a function for it; Mwrap::Objects::Failed
 * if the child can't be made, is killed, or has no answer within a minute; RuntimeError if the
 * server's library, which has the search, can't be loaded; and NoMemoryError.
 */
static VALUE mwrap_holders(int argc, VALUE *argv, VALUE mod)
{
	struct question q = { .location = Qnil, .blocks = true };
	ID keys[] = { id_of, id_since };
	VALUE options, given[] = { Qundef, Qundef }, rows;

	rb_scan_args(argc, argv, "01:", &q.location, &options);
	if (!NIL_P(options))
		rb_get_kwargs(options, keys, 0, 2, given);
	if (given[0] != Qundef)
		take_of(&q, given[0]);
	if (given[1] != Qundef)
		take_since(&q, given[1]);
	if (!NIL_P(q.location)) {
		StringValue(q.location);
		q.location = rb_str_new_frozen(q.location); /* other threads run meanwhile */
	}
	if (mw_tracker == &mw_no_tracker)
		return rb_ary_new();
	mw_offers_need();
	rows = mw_with_result_owner_hushed(rows_of, &q);
	RB_GC_GUARD(q.location);
	return rows;
}

void mw_init_holders(void)
{
	VALUE mod = rb_define_module("Mwrap"), objects = rb_define_module_under(mod, "Objects");

	/* Another thread is walking the heap, or searches for holders: two at a time are too many. */
	busy_error = rb_define_class_under(objects, "Busy", rb_eStandardError);
	/* This Ruby lacks the functions for it, or other Ractors run, whose objects may not be looked at. */
	unavailable_error = rb_define_class_under(objects, "Unavailable", rb_eStandardError);
	/* The child that looks for holders couldn't be made, was killed, or took too long. */
	failed_error = rb_define_class_under(objects, "Failed", rb_eStandardError);
	rb_gc_register_mark_object(busy_error);
	rb_gc_register_mark_object(unavailable_error);
	rb_gc_register_mark_object(failed_error);
	id_holder = rb_intern("holder");
	id_by = rb_intern("by");
	id_blocks = rb_intern("blocks");
	id_bytes = rb_intern("bytes");
	id_objects = rb_intern("objects");
	id_object_bytes = rb_intern("object_bytes");
	id_both = rb_intern("both");
	id_of = rb_intern("of");
	id_since = rb_intern("since");
	id_paths = rb_intern("paths");
	id_path = rb_intern("path");
	rb_define_singleton_method(mod, "holders", mwrap_holders, -1);
}
