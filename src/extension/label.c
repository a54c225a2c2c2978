/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * label.c - Mwrap.label and Mwrap.labels.
 *
 * To the tracker, a label belongs to a native thread: one word, which samples take along. In Ruby it belongs
 * to a Fiber, in a variable of it. At each Fiber switch the word is set to that of the Fiber, by the
 * event for it. A Fiber that begins has the label of the one that began it. It is told from one that goes
 * on by its stack, which is still empty. If an interrupt overtakes the switch (Thread#raise), the
 * exception's event sets the word.
 *
 * A Ractor has the hook from its first label on. A Ruby thread that may change native threads has no
 * label: quiet.c.
 */
#include "ext.h"

#include "shared/report/label_rows.h"

#include <ruby/debug.h>
#include <ruby/ractor.h>

enum {
	EVENTS = RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END | RUBY_EVENT_RAISE
};

static ID id_label; /* the key of a Fiber's label: nil or an Integer, the tracker's number of it */
static rb_ractor_local_key_t is_hooked; /* per Ractor: nil or true */

static VALUE label_of_fiber(void)
{
	return rb_thread_local_aref(rb_thread_current(), id_label);
}

static void set_label_of_fiber(uint32_t label)
{
	rb_thread_local_aset(rb_thread_current(), id_label, UINT2NUM(label));
}

static bool fiber_begins(void)
{
	VALUE frame;
	int line;

	return rb_profile_frames(0, 1, &frame, &line) == 0;
}

static void on_event(rb_event_flag_t event, VALUE unused, VALUE self, ID id, VALUE klass)
{
	VALUE label;
	uint32_t before;

	if (event & (RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END)) {
		mw_tracker->label_set(0);
		return;
	}
	label = label_of_fiber();
	before = mw_tracker->label_set(NIL_P(label) ? 0 : FIX2UINT(label));
	if (NIL_P(label) && before && (event & RUBY_EVENT_FIBER_SWITCH) && fiber_begins()) {
		set_label_of_fiber(before);
		mw_tracker->label_set(before);
	}
}

static void hook(void)
{
	VALUE yes;

	if (rb_ractor_local_storage_value_lookup(is_hooked, &yes) && RTEST(yes))
		return;
	rb_ractor_local_storage_value_set(is_hooked, Qtrue);
	rb_add_event_hook(on_event, EVENTS, Qnil);
}

/* label: an Integer, or nil before the Fiber's first one. */
static VALUE restore(VALUE label)
{
	uint32_t number = NIL_P(label) ? 0 : FIX2UINT(label);

	set_label_of_fiber(number);
	mw_tracker->label_set(number);
	return Qnil;
}

/*
 * call-seq: Mwrap.label(name) { ... } -> the block's value
 *
 * Says what this thread works at in the block, for example <tt>"orders#show"</tt> or the name of a job.
 * Stacks that are sampled meanwhile have that label. So Mwrap.labels and the page /labels say
 * which endpoint or job allocated what lives. Mwrap::Label and the other middlewares do it for each
 * request or job: see doc/labels.md.
 *
 * +name+ is a String or Symbol; nil or an empty one: no label. It is cut after 128 bytes. A process keeps
 * 4,096 names; further ones count as <tt>"(other)"</tt>. So a name should say the kind of work, not its
 * subject: "orders#show", not "/orders/4711". Calls may be nested: the inner label counts.
 *
 * The label belongs to the Fiber. A Fiber that begins in the block has the same one; a new Thread has none. In a Ruby
 * thread that can change native threads it has no effect: see Mwrap.quiet. Without the tracker, and without
 * stacks, the block is only called.
 *
 * Raises LocalJumpError without a block, and TypeError for another +name+.
 */
static VALUE mwrap_label(VALUE mod, VALUE name)
{
	VALUE before;
	uint32_t label;

	rb_need_block();
	if (SYMBOL_P(name))
		name = rb_sym2str(name);
	if (!NIL_P(name))
		StringValue(name);
	label = NIL_P(name) ? 0 : mw_tracker->label_of(RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
	/* a frozen thread takes no variables */
	if (OBJ_FROZEN(rb_thread_current()) || !mw_keeps_native_thread())
		return rb_yield(Qnil);
	before = label_of_fiber();
	hook();
	set_label_of_fiber(label);
	mw_tracker->label_set(label);
	return rb_ensure(rb_yield, Qnil, restore, before);
}

static void set_figure(VALUE h, const char *name, VALUE value)
{
	rb_hash_aset(h, ID2SYM(rb_intern(name)), value);
}

static VALUE make_figures(const struct mw_row *r)
{
	VALUE h = rb_hash_new();

	set_figure(h, "live_bytes", ULL2NUM(r->live_bytes));
	set_figure(h, "live", ULL2NUM(r->live));
	set_figure(h, "growth", LL2NUM(r->growth));
	set_figure(h, "total", ULL2NUM(r->total));
	set_figure(h, "allocations", ULL2NUM(r->allocations));
	set_figure(h, "objects", ULL2NUM(r->objects));
	set_figure(h, "object_bytes", ULL2NUM(r->object_bytes));
	set_figure(h, "samples", UINT2NUM(r->kind_samples));
	return h;
}

static VALUE all_labels(struct mw_result_owner *hold, void *unused)
{
	VALUE all = rb_hash_new();

	mw_result_owner_labels(hold);
	for (size_t i = 0; i < hold->labels_n; i++) {
		const struct mw_row *r = &hold->labels[i];

		rb_hash_aset(all, r->id ? mw_location_string(r->location, r->location_len) : Qnil,
			     make_figures(r));
	}
	return all;
}

/*
 * call-seq: Mwrap.labels -> { label => figures, ... }
 *
 * Returns the memory by label, that with the most live bytes first. The key nil has what was allocated without a
 * label. The figures of all labels add up to the table's, each exactly. How the bytes of a line are divided
 * among labels is estimated from samples. The figures are a Hash:
 *
 * +live_bytes+, +live+:: bytes and blocks that live now
 * +growth+:: live bytes now, less those at the last reset, or the start of the process
 * +total+, +allocations+:: bytes and blocks that were allocated since then
 * +objects+, +object_bytes+:: Ruby's objects that stay, and the bytes of their slots
 * +samples+:: samples since the last reset that this rests on
 *
 * Empty without the tracker. The call's own allocations aren't tracked, as in Mwrap.each.
 *
 * Raises NoMemoryError.
 */
static VALUE mwrap_labels(VALUE mod)
{
	return mw_with_result_owner_hushed(all_labels, NULL);
}

void mw_init_label(void)
{
	VALUE mod = rb_define_module("Mwrap");

	id_label = rb_intern("__mwrap_label");
	is_hooked = rb_ractor_local_storage_value_newkey();
	rb_define_singleton_method(mod, "label", mwrap_label, 1);
	rb_define_singleton_method(mod, "labels", mwrap_labels, 0);
}
