/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_counts.c - the live blocks of every location, for lib/mwrap/check. */
#include "ext.h"

static VALUE counts(struct mw_result_owner *hold, void *unused)
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
	return mw_with_result_owner(counts, NULL);
}

void mw_init_live_counts(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_private_method(rb_singleton_class(mod), "live_counts", mwrap_live_counts, 0);
}
