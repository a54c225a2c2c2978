/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_walk.c - reports what each slot of Ruby's heap holds, for lib/mwrap/objects.mw_objspace.
 *
 * ObjectSpace.each_object leaves Ruby's own objects out. ObjectSpace.dump_all writes hundreds of
 * bytes for each, with the contents of strings. So this walks the heap itself, with the functions
 * of Ruby's own extension objspace.so (heap_walk.h): if one is missing, the methods here answer nil.
 */
#include <dlfcn.h>
#include <string.h>

#include "heap_walk.h"

#include <ruby/debug.h>

struct mw_objspace mw_objspace;

VALUE mw_visible_class(VALUE v)
{
	VALUE class;

	switch (RB_BUILTIN_TYPE(v)) {
	case RUBY_T_IMEMO:
	case RUBY_T_ICLASS:
	case RUBY_T_ZOMBIE:
	case RUBY_T_NODE:
		return 0;
	default:
		/* that of another Ractor's object may not be there yet */
		class = RBASIC_CLASS(v);
		return class && (mw_is_a(class, RUBY_T_CLASS) || mw_is_a(class, RUBY_T_ICLASS)) ?
			       rb_class_real(class) :
			       0;
	}
}

struct each {
	void (*call)(VALUE, size_t, void *);
	void *ctx;
};

static int see_slots(void *start, void *end, size_t slot, void *ctx)
{
	const struct each *each = ctx;

	for (char *at = start; at + slot <= (char *)end; at += slot)
		if (mw_is_object((VALUE)at))
			each->call((VALUE)at, slot, each->ctx);
	return 0;
}

void mw_each_object(void (*call)(VALUE, size_t, void *), void *ctx)
{
	struct each each = { call, ctx };

	mw_tracker->quiet_enter();
	mw_objspace.each_objects(see_slots, &each);
	mw_tracker->quiet_leave();
}

/* --- pages ------------------------------------------------------------------ */

/* Ruby calls it once for each page that has objects. */
static int see_page(void *start, void *end, size_t slot, void *ctx)
{
	struct mw_heap_slots p = { (uintptr_t)start, slot, (size_t)((char *)end - (char *)start) / slot, 0 };

	for (char *at = start; at + slot <= (char *)end; at += slot)
		p.used += mw_is_object((VALUE)at);
	mw_buf_add(ctx, &p, sizeof(p));
	return 0;
}

void mw_heap_slots_each(struct mw_buf *to)
{
	mw_objspace.each_objects(see_page, to);
}

static VALUE pages(struct mw_result_owner *hold, void *unused)
{
	VALUE all = rb_ary_new();

	mw_tracker->quiet_enter();
	mw_heap_slots_each(&hold->text);
	mw_tracker->quiet_leave();
	if (hold->text.failed)
		mw_no_memory();
	for (size_t i = 0; i + sizeof(struct mw_heap_slots) <= hold->text.n;
	     i += sizeof(struct mw_heap_slots)) {
		struct mw_heap_slots p;

		memcpy(&p, hold->text.p + i, sizeof(p));
		rb_ary_push(all, rb_ary_new_from_args(4, ULL2NUM(p.start), SIZET2NUM(p.slot),
						      SIZET2NUM(p.total), SIZET2NUM(p.used)));
	}
	return all;
}

/* :nodoc: walk_pages -> [[address of the first slot, slot's size, slots, used ones], ...], or nil */
static VALUE walk_pages(VALUE mod)
{
	return mw_objspace.each_objects ? mw_with_result_owner(pages, NULL) : Qnil;
}

/* --- instruction sequences -------------------------------------------------- */

enum iseq_kind { METHOD, BLOCK, CLASS, TOP, RESCUE, KINDS };

/* In the buffer, len bytes of a path follow. */
struct iseq {
	size_t memsize;
	size_t len;
	enum iseq_kind kind;
};

/* The last two objects that a sequence refers to; whole: its path was seen. */
struct refs {
	VALUE label, base;
	bool whole;
};

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

	if (mw_is_a(r->label, RUBY_T_STRING) && mw_is_a(r->base, RUBY_T_STRING) &&
	    ends_with(r->label, r->base))
		r->whole |= mw_is_a(v, RUBY_T_STRING) || mw_is_a(v, RUBY_T_ARRAY);
	r->label = r->base;
	r->base = v;
}

/* Returns its real path, or its substitute, for example "(eval)"; nil: none is known. */
static VALUE path_of(VALUE iseq)
{
	struct refs r = { Qnil, Qnil, false };
	VALUE path;

	mw_objspace.reachable(iseq, see_ref, &r);
	if (!r.whole)
		return Qnil;
	path = rb_profile_frame_absolute_path(iseq);
	return mw_is_a(path, RUBY_T_STRING) ? path : rb_profile_frame_path(iseq);
}

/* Ruby makes these labels itself; no name of a method begins with "<c". */
static enum iseq_kind kind_of_iseq(VALUE iseq)
{
	static const struct {
		const char *prefix;
		enum iseq_kind kind;
	} all[] = { { "block in ", BLOCK },       { "block (", BLOCK },        { "rescue in ", RESCUE },
		    { "ensure in ", RESCUE },     { "<class:", CLASS },        { "<module:", CLASS },
		    { "singleton class", CLASS }, { "<top (required)>", TOP }, { "<main>", TOP },
		    { "<compiled>", TOP },        { "<internal:", TOP } };
	VALUE label = rb_profile_frame_label(iseq);

	for (size_t i = 0; mw_is_a(label, RUBY_T_STRING) && i < sizeof(all) / sizeof(*all); i++) {
		size_t n = strlen(all[i].prefix);

		if ((size_t)RSTRING_LEN(label) >= n && !memcmp(RSTRING_PTR(label), all[i].prefix, n))
			return all[i].kind;
	}
	return METHOD;
}

static bool is_iseq(VALUE v, unsigned type)
{
	return mw_is_a(v, RUBY_T_IMEMO) && mw_imemo_kind(v) == type;
}

struct iseq_walk {
	struct mw_buf *to;
	unsigned type; /* the imemo type (Ruby's term) of sequences */
};

static void see_iseq(VALUE v, struct mw_buf *to)
{
	VALUE path = path_of(v);
	struct iseq i = { .memsize = mw_objspace.memsize(v) };

	if (mw_is_a(path, RUBY_T_STRING)) {
		i.len = (size_t)RSTRING_LEN(path);
		i.kind = kind_of_iseq(v);
	}
	mw_buf_add(to, &i, sizeof(i));
	if (i.len)
		mw_buf_add(to, RSTRING_PTR(path), i.len);
}

static void see_if_iseq(VALUE v, size_t slot, void *ctx)
{
	const struct iseq_walk *w = ctx;

	if (is_iseq(v, w->type))
		see_iseq(v, w->to);
}

/* Finds Ruby's number for "iseq", 7 in all versions so far; 16: none. */
static unsigned iseq_type(void)
{
	for (unsigned i = 0; i < MW_IMEMO_NAMED; i++) {
		const char *name = mw_objspace.imemo_name((int)i);

		if (name && !strcmp(name, "iseq"))
			return i;
	}
	return 16;
}

/* Adds one to { path => [number, bytes, number of each kind] }. */
static void add_iseq(VALUE all, const struct iseq *i, const char *path)
{
	VALUE key = i->len ? mw_location_string(path, i->len) : Qnil;
	VALUE sums = rb_hash_lookup(all, key);
	uint64_t add[2 + KINDS] = { 1, i->memsize };

	add[2 + i->kind] = i->len ? 1 : 0;
	if (NIL_P(sums))
		rb_hash_aset(all, key, sums = rb_ary_new_capa(2 + KINDS));
	for (long n = 0; n < 2 + KINDS; n++) {
		VALUE before = rb_ary_entry(sums, n);

		rb_ary_store(sums, n, ULL2NUM(add[n] + (NIL_P(before) ? 0 : NUM2ULL(before))));
	}
}

static VALUE iseqs(struct mw_result_owner *hold, void *type)
{
	struct iseq_walk w = { &hold->text, *(const unsigned *)type };
	VALUE all = rb_hash_new();

	mw_each_object(see_if_iseq, &w);
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

/*
 * :nodoc: walk_iseqs -> { path or nil => [sequences, bytes, methods, blocks, bodies of classes, of
 * files, parts for exceptions] }, or nil
 */
static VALUE walk_iseqs(VALUE mod)
{
	unsigned type = mw_objspace.imemo_name ? iseq_type() : 16;

	if (type > 15 || !mw_objspace.each_objects || !mw_objspace.memsize || !mw_objspace.reachable)
		return Qnil;
	return mw_with_result_owner(iseqs, &type);
}

/* --- ------------------------------------------------------------------------ */

/*
 * :nodoc: class_of(object): its real class; its own methods aren't asked. Kernel#class, bound,
 * allocates.
 */
static VALUE real_class_of(VALUE mod, VALUE object)
{
	return rb_obj_class(object);
}

static VALUE join_thread(VALUE thread)
{
	return rb_funcall(thread, rb_intern("join"), 0);
}

/* :nodoc: wait(thread): join, during which a Fiber scheduler may run other Fibers */
static VALUE wait_for_thread(VALUE mod, VALUE thread)
{
	return mw_loudly(join_thread, thread);
}

/* POSIX lets dlsym's result be a function's address. */
void mw_objspace_look_up(void *to, const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	memcpy(to, &p, sizeof(p));
}

void mw_init_heap_walk(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	mw_objspace_look_up(&mw_objspace.each_objects, "rb_objspace_each_objects");
	mw_objspace_look_up(&mw_objspace.reachable, "rb_objspace_reachable_objects_from");
	mw_objspace_look_up(&mw_objspace.roots, "rb_objspace_reachable_objects_from_root");
	mw_objspace_look_up(&mw_objspace.memsize, "rb_obj_memsize_of");
	mw_objspace_look_up(&mw_objspace.imemo_name, "rb_imemo_name");
	rb_define_singleton_method(mod, "walk_pages", walk_pages, 0);
	rb_define_singleton_method(mod, "class_of", real_class_of, 1);
	rb_define_singleton_method(mod, "wait", wait_for_thread, 1);
	rb_define_singleton_method(mod, "walk_iseqs", walk_iseqs, 0);
}
