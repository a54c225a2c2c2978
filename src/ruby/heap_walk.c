/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_walk.c - reports what each slot of Ruby's heap holds, for lib/mwrap/objects.rb.
 *
 * ObjectSpace.each_object leaves Ruby's own objects out. ObjectSpace.dump_all writes hundreds of
 * bytes for each, with the contents of strings. So this walks the heap itself, with the functions
 * of Ruby's own extension objspace.so. They are no public API, so they are looked up: if one is
 * missing, the methods here answer nil.
 *
 * A walk holds the GVL, calls nothing that allocates Ruby's memory, and keeps no object: Ruby may
 * be about to free any object that it meets. Findings are copied into a result owner.
 */
#include <dlfcn.h>
#include <string.h>

#include "ext.h"

#include <ruby/debug.h>

static struct {
	void (*each_objects)(int (*)(void *start, void *end, size_t slot, void *), void *);
	void (*reachable)(VALUE, void (*)(VALUE, void *), void *);
	size_t (*memsize)(VALUE);
	const char *(*imemo_name)(int type);
} rb;

/* True if the slot holds an object. One that awaits its finalizer is an object. */
static bool is_object(VALUE v)
{
	enum ruby_value_type type = RB_BUILTIN_TYPE(v);

	return type != RUBY_T_NONE && type != RUBY_T_MOVED;
}

/* --- pages ------------------------------------------------------------------ */

struct page {
	uintptr_t start; /* of its first slot */
	size_t slot, total, used;
};

/* Ruby calls it once for each page that has objects. */
static int see_page(void *start, void *end, size_t slot, void *ctx)
{
	struct page p = { (uintptr_t)start, slot, (size_t)((char *)end - (char *)start) / slot, 0 };

	for (char *at = start; at + slot <= (char *)end; at += slot)
		p.used += is_object((VALUE)at);
	mw_buf_add(ctx, &p, sizeof(p));
	return 0;
}

static VALUE pages(struct mw_result_owner *hold, void *unused)
{
	VALUE all = rb_ary_new();

	mw_tracker->quiet_enter();
	rb.each_objects(see_page, &hold->text);
	mw_tracker->quiet_leave();
	if (hold->text.failed)
		mw_no_memory();
	for (size_t i = 0; i + sizeof(struct page) <= hold->text.n; i += sizeof(struct page)) {
		struct page p;

		memcpy(&p, hold->text.p + i, sizeof(p));
		rb_ary_push(all, rb_ary_new_from_args(4, ULL2NUM(p.start), SIZET2NUM(p.slot),
						      SIZET2NUM(p.total), SIZET2NUM(p.used)));
	}
	return all;
}

/* :nodoc: walk_pages -> [[address of the first slot, slot's size, slots, used ones], ...], or nil */
static VALUE walk_pages(VALUE mod)
{
	return rb.each_objects ? mw_with_result_owner(pages, NULL) : Qnil;
}

/* --- instruction sequences -------------------------------------------------- */

/* In the buffer, len bytes of a path follow. */
struct iseq {
	size_t memsize;
	size_t len;
};

/* The last two objects that a sequence refers to; whole: its path was seen. */
struct refs {
	VALUE label, base;
	bool whole;
};

static bool is_a(VALUE v, enum ruby_value_type type)
{
	return !RB_SPECIAL_CONST_P(v) && RB_BUILTIN_TYPE(v) == type;
}

static bool ends_with(VALUE s, VALUE end)
{
	long n = RSTRING_LEN(s), len = RSTRING_LEN(end);

	return n >= len && len && !memcmp(RSTRING_PTR(s) + n - len, RSTRING_PTR(end), (size_t)len);
}

/*
 * Ruby sets three references at once: a sequence's label; the label of its method, with which the
 * first one ends; its path, a String or a pair. Only a sequence with all three can be asked for its
 * path. One that is being made, or could not be made, can't.
 */
static void see_ref(VALUE v, void *ctx)
{
	struct refs *r = ctx;

	if (is_a(r->label, RUBY_T_STRING) && is_a(r->base, RUBY_T_STRING) && ends_with(r->label, r->base))
		r->whole |= is_a(v, RUBY_T_STRING) || is_a(v, RUBY_T_ARRAY);
	r->label = r->base;
	r->base = v;
}

/* Returns its real path, or its substitute, for example "(eval)"; nil: none is known. */
static VALUE path_of(VALUE iseq)
{
	struct refs r = { Qnil, Qnil, false };
	VALUE path;

	rb.reachable(iseq, see_ref, &r);
	if (!r.whole)
		return Qnil;
	path = rb_profile_frame_absolute_path(iseq);
	return is_a(path, RUBY_T_STRING) ? path : rb_profile_frame_path(iseq);
}

static bool is_iseq(VALUE v, unsigned type)
{
	return is_a(v, RUBY_T_IMEMO) && ((RBASIC(v)->flags >> RUBY_FL_USHIFT) & 15) == type;
}

struct iseq_walk {
	struct mw_buf *to;
	unsigned type; /* the imemo type (Ruby's term) of sequences */
};

static void see_iseq(VALUE v, struct mw_buf *to)
{
	VALUE path = path_of(v);
	struct iseq i = { .memsize = rb.memsize(v) };

	if (is_a(path, RUBY_T_STRING))
		i.len = (size_t)RSTRING_LEN(path);
	mw_buf_add(to, &i, sizeof(i));
	if (i.len)
		mw_buf_add(to, RSTRING_PTR(path), i.len);
}

static int see_iseqs(void *start, void *end, size_t slot, void *ctx)
{
	const struct iseq_walk *w = ctx;

	for (char *at = start; at + slot <= (char *)end; at += slot)
		if (is_object((VALUE)at) && is_iseq((VALUE)at, w->type))
			see_iseq((VALUE)at, w->to);
	return 0;
}

/* Finds Ruby's number for "iseq", 7 in all versions so far; 16: none. */
static unsigned iseq_type(void)
{
	for (unsigned i = 0; i < 9; i++) { /* above are gaps, and some Rubies abort at these */
		const char *name = rb.imemo_name((int)i);

		if (name && !strcmp(name, "iseq"))
			return i;
	}
	return 16;
}

/* Adds one to { path => [number, bytes] }. */
static void add_iseq(VALUE all, const struct iseq *i, const char *path)
{
	VALUE key = i->len ? mw_location_string(path, i->len) : Qnil;
	VALUE sums = rb_hash_lookup(all, key);
	uint64_t n = 1, bytes = i->memsize;

	if (!NIL_P(sums)) {
		n += NUM2ULL(rb_ary_entry(sums, 0));
		bytes += NUM2ULL(rb_ary_entry(sums, 1));
	}
	rb_hash_aset(all, key, rb_ary_new_from_args(2, ULL2NUM(n), ULL2NUM(bytes)));
}

static VALUE iseqs(struct mw_result_owner *hold, void *type)
{
	struct iseq_walk w = { &hold->text, *(const unsigned *)type };
	VALUE all = rb_hash_new();

	mw_tracker->quiet_enter();
	rb.each_objects(see_iseqs, &w);
	mw_tracker->quiet_leave();
	if (hold->text.failed)
		mw_no_memory();
	for (size_t at = 0; at + sizeof(struct iseq) <= hold->text.n;) {
		struct iseq i;

		memcpy(&i, hold->text.p + at, sizeof(i));
		at += sizeof(i);
		add_iseq(all, &i, hold->text.p + at);
		at += i.len;
	}
	return all;
}

/* :nodoc: walk_iseqs -> { path or nil => [sequences, bytes] }, or nil */
static VALUE walk_iseqs(VALUE mod)
{
	unsigned type = rb.imemo_name ? iseq_type() : 16;

	if (type > 15 || !rb.each_objects || !rb.memsize || !rb.reachable)
		return Qnil;
	return mw_with_result_owner(iseqs, &type);
}

/* --- ------------------------------------------------------------------------ */

/*
 * :nodoc: class_of(object): its real class; its own methods aren't asked. Kernel#class, bound,
 * allocates.
 */
static VALUE class_of(VALUE mod, VALUE object)
{
	return rb_obj_class(object);
}

static VALUE join(VALUE thread)
{
	return rb_funcall(thread, rb_intern("join"), 0);
}

/* :nodoc: wait(thread): join, during which a Fiber scheduler may run other Fibers */
static VALUE wait_for(VALUE mod, VALUE thread)
{
	return mw_loudly(join, thread);
}

/* POSIX lets dlsym's result be a function's address. */
static void look_up(void *to, const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	memcpy(to, &p, sizeof(p));
}

void mw_init_heap_walk(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	look_up(&rb.each_objects, "rb_objspace_each_objects");
	look_up(&rb.reachable, "rb_objspace_reachable_objects_from");
	look_up(&rb.memsize, "rb_obj_memsize_of");
	look_up(&rb.imemo_name, "rb_imemo_name");
	rb_define_singleton_method(mod, "walk_pages", walk_pages, 0);
	rb_define_singleton_method(mod, "class_of", class_of, 1);
	rb_define_singleton_method(mod, "wait", wait_for, 1);
	rb_define_singleton_method(mod, "walk_iseqs", walk_iseqs, 0);
}
