/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump.c - Mwrap.dump.
 *
 * The exit dump's code makes the text. Ruby's own means write it to the given object in one piece.
 */
#include "ext.h"

#include <ruby/io.h>
#include <ruby/ractor.h>

struct dump {
	uint64_t min;
	VALUE io;
};

static VALUE write_text(struct mw_result_owner *hold, void *arg)
{
	const struct dump *d = arg;
	VALUE text;

	mw_result_owner_read(hold, d->min, true);
	if (!hold->text.n)
		return Qnil;
	text = mw_string(hold->text.p, hold->text.n);
	mw_result_owner_release(hold); /* keep only one copy while it is written */
	rb_io_write(d->io, text);
	return Qnil;
}

/* An unbuffered IO for a descriptor; its owner keeps owning it. */
static VALUE io_for_fd(VALUE fd)
{
	VALUE options = rb_hash_new();
	VALUE args[3] = { fd, rb_str_new_cstr("wb"), options };
	VALUE io;

	rb_hash_aset(options, ID2SYM(rb_intern("autoclose")), Qfalse);
	io = rb_funcallv_kw(rb_cIO, rb_intern("for_fd"), 3, args, RB_PASS_KEYWORDS);
	rb_funcall(io, rb_intern("sync="), 1, Qtrue);
	return io;
}

/* Finds something to write to, from the argument of Mwrap.dump. */
static VALUE writable(VALUE io)
{
	VALUE real;

	if (NIL_P(io))
		return rb_ractor_stderr();
	if (rb_respond_to(io, rb_intern("write")))
		return io;
	real = rb_io_check_io(io);
	if (!NIL_P(real))
		return real;
	if (rb_respond_to(io, rb_intern("fileno")))
		return io_for_fd(rb_to_int(rb_funcall(io, rb_intern("fileno"), 0)));
	rb_raise(rb_eTypeError,
		 "%" PRIsVALUE ": can't be written to: give an object with write, to_io or fileno",
		 rb_obj_class(io));
}

/*
 * call-seq:
 *   Mwrap.dump(io = $stderr, min = 0) -> nil
 *
 * Writes locations as text: total bytes (16 wide), number of allocations (12 wide) and location.
 * <tt>sort -k1,1rn</tt> sorts it. It writes a location if its bytes allocated since the last reset, its
 * bytes live now, or the slots of its Ruby objects that stay, are more than +min+.
 *
 * +io+ is any object that responds to +write+, +to_io+ or +fileno+; nil is <tt>$stderr</tt>. It
 * gets the whole text as one String: UTF-8 if it is valid as that, else binary. It is neither
 * flushed nor closed. Allocations by the write aren't tracked. Without the tracker nothing is written.
 *
 * Raises TypeError for another +io+. Raises TypeError or RangeError for a +min+ that isn't a number
 * from 0 to 2**64 - 1. Raises NoMemoryError, and what writing raises.
 */
static VALUE mwrap_dump(int argc, VALUE *argv, VALUE mod)
{
	struct dump d = { .io = Qnil };

	rb_check_arity(argc, 0, 2);
	d.min = mw_min_arg(argc > 1 ? argv[1] : Qnil);
	d.io = writable(argc > 0 ? argv[0] : Qnil);
	return mw_with_result_owner_hushed(write_text, &d);
}

void mw_init_dump(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_singleton_method(mod, "dump", mwrap_dump, -1);
}
