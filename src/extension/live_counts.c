/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_counts.c - what lives at every location, now and at the peak, for lib/mwrap/check. */
#include "ext.h"

static VALUE live_counts(struct mw_result_owner *hold, void *unused)
{
	VALUE found;

	mw_result_owner_read(hold, 0, false);
	found = rb_ary_new_capa((long)(3 * hold->result.n));
	for (size_t i = 0; i < hold->result.n; i++) {
		const struct mw_row *row = &hold->result.rows[i];

		if (!row->live)
			continue;
		rb_ary_push(found, mw_location_string(row->location, row->location_len));
		rb_ary_push(found, ULL2NUM(row->live));
		rb_ary_push(found, ULL2NUM(row->live_bytes));
	}
	return found;
}

/*
 * :nodoc: live_counts -> [location, blocks, bytes, location, blocks, bytes, ...]: the locations with
 * live blocks. Flat, so that a reading of thousands makes few objects; the names are shared by all
 * readings. Call it in Mwrap.quiet: it doesn't call back. Raises NoMemoryError.
 */
static VALUE mwrap_live_counts(VALUE mod)
{
	return mw_with_result_owner(live_counts, NULL);
}

static VALUE peak_bytes(struct mw_result_owner *hold, void *unused)
{
	VALUE found = rb_hash_new();

	mw_result_owner_read(hold, 0, false);
	for (size_t i = 0; i < hold->result.n; i++) {
		const struct mw_row *row = &hold->result.rows[i];

		if (row->peak_bytes)
			rb_hash_aset(found, mw_location_string(row->location, row->location_len),
				     ULL2NUM(row->peak_bytes));
	}
	return found;
}

/* :nodoc: peak_bytes -> { location => bytes that lived there at the peak }. As live_counts. */
static VALUE mwrap_peak_bytes(VALUE mod)
{
	return mw_with_result_owner(peak_bytes, NULL);
}

struct watch {
	bool on, done;
};

static void *watch_work(void *p)
{
	struct watch *w = p;

	w->done = mw_tracker->watch_peak(w->on);
	return NULL;
}

/* :nodoc: watch_peak(on) -> false if it can't: see mw_api.watch_peak */
static VALUE mwrap_watch_peak(VALUE mod, VALUE on)
{
	struct watch w = { .on = RTEST(on) };

	mw_without_gvl(watch_work, &w);
	return w.done ? Qtrue : Qfalse;
}

void mw_init_live_counts(void)
{
	VALUE of = rb_singleton_class(rb_define_module("Mwrap"));

	rb_define_private_method(of, "live_counts", mwrap_live_counts, 0);
	rb_define_private_method(of, "peak_bytes", mwrap_peak_bytes, 0);
	rb_define_private_method(of, "watch_peak", mwrap_watch_peak, 1);
}
