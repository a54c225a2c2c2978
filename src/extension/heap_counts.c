/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_counts.c - counts the objects of Ruby's heap by type and by class, in one walk.
 *
 * It reads each object's header, so it also sees objects that ObjectSpace.each_object leaves out.
 */
#include <string.h>

#include "heap_walk.h"
#include "value_map.h"

enum { TYPES = RUBY_T_MASK + 1 };

struct sums {
	uint64_t count, memsize;
};

struct counts {
	struct mw_value_map classes;
	struct mw_buf *sums; /* one for each of these */
	struct sums types[TYPES], imemos[MW_IMEMO_KINDS];
	struct sums internal; /* those without a class for Ruby code */
	bool slots_only;
};

static struct sums *of_class(struct counts *c, VALUE class)
{
	static const struct sums none;
	uint32_t i = class ? mw_value_map_add(&c->classes, class) : MW_NO_VALUE;

	if (i == MW_NO_VALUE)
		return &c->internal;
	if (i == c->sums->n / sizeof(none))
		mw_buf_add(c->sums, &none, sizeof(none));
	return c->sums->failed ? &c->internal : (struct sums *)c->sums->p + i;
}

static void add_memsize(struct sums *s, size_t memsize)
{
	s->count++;
	s->memsize += memsize;
}

static void count_object(VALUE v, size_t slot, void *ctx)
{
	struct counts *c = ctx;
	enum ruby_value_type type = RB_BUILTIN_TYPE(v);
	size_t memsize = c->slots_only || !mw_is_whole(v) ? slot : mw_objspace.memsize(v);

	add_memsize(type == RUBY_T_IMEMO ? &c->imemos[mw_imemo_kind(v)] : &c->types[type], memsize);
	add_memsize(of_class(c, mw_visible_class(v)), memsize);
}

const char *mw_type_name(enum ruby_value_type type, unsigned imemo_kind)
{
	/* clang-format off */
	static const char *const types[TYPES] = {
		[RUBY_T_OBJECT] = "T_OBJECT", [RUBY_T_CLASS] = "T_CLASS", [RUBY_T_MODULE] = "T_MODULE",
		[RUBY_T_FLOAT] = "T_FLOAT", [RUBY_T_STRING] = "T_STRING", [RUBY_T_REGEXP] = "T_REGEXP",
		[RUBY_T_ARRAY] = "T_ARRAY", [RUBY_T_HASH] = "T_HASH", [RUBY_T_STRUCT] = "T_STRUCT",
		[RUBY_T_BIGNUM] = "T_BIGNUM", [RUBY_T_FILE] = "T_FILE", [RUBY_T_DATA] = "T_DATA",
		[RUBY_T_MATCH] = "T_MATCH", [RUBY_T_COMPLEX] = "T_COMPLEX", [RUBY_T_RATIONAL] = "T_RATIONAL",
		[RUBY_T_SYMBOL] = "T_SYMBOL", [RUBY_T_IMEMO] = "T_IMEMO", [RUBY_T_NODE] = "T_NODE",
		[RUBY_T_ICLASS] = "T_ICLASS", [RUBY_T_ZOMBIE] = "T_ZOMBIE",
	};
	static const char *const kinds[MW_IMEMO_KINDS] = {
		"imemo_env", "imemo_cref", "imemo_svar", "imemo_throw_data", "imemo_ifunc", "imemo_memo",
		"imemo_ment", "imemo_iseq", "imemo_tmpbuf",
	};
	/* clang-format on */
	const char *name;

	if (type != RUBY_T_IMEMO)
		return types[type & RUBY_T_MASK] ? types[type & RUBY_T_MASK] : "(unknown)";
	/* the names are these, if this Ruby numbers them so; those above differ from one to the next */
	name = imemo_kind < MW_IMEMO_NAMED && mw_objspace.imemo_name ?
		       mw_objspace.imemo_name((int)imemo_kind) :
		       NULL;
	return name && kinds[imemo_kind] && !strcmp(name, kinds[imemo_kind] + 6) ?
		       kinds[imemo_kind] :
		       "imemo_other";
}

static VALUE make_sums_row(VALUE name, const struct sums *s)
{
	return rb_ary_new_from_args(3, name, ULL2NUM(s->count), ULL2NUM(s->memsize));
}

static void push_type(VALUE all, const char *name, const struct sums *s)
{
	if (s->count)
		rb_ary_push(all, make_sums_row(rb_usascii_str_new_cstr(name), s));
}

static VALUE counts(struct mw_result_owner *hold, void *slots_only)
{
	struct mw_seen *seen = mw_result_owner_sees(hold);
	struct counts c = {
		{ &seen->objects, &seen->index }, &hold->text, .slots_only = *(const bool *)slots_only
	};
	VALUE types = rb_ary_new(), classes = rb_ary_new();

	seen->walking = true;
	mw_each_object(count_object, &c);
	seen->walking = false;
	if (seen->objects.failed || seen->index.failed || hold->text.failed)
		mw_no_memory();
	for (unsigned t = 0; t < TYPES; t++)
		push_type(types, mw_type_name(t, 0), &c.types[t]);
	for (unsigned k = 0; k < MW_IMEMO_KINDS; k++)
		push_type(types, mw_type_name(RUBY_T_IMEMO, k), &c.imemos[k]);
	for (uint32_t i = 0; i < mw_value_map_size(&c.classes); i++)
		rb_ary_push(classes, make_sums_row(mw_value_map_at(&c.classes, i),
						   (const struct sums *)hold->text.p + i));
	rb_ary_push(classes, make_sums_row(Qnil, &c.internal));
	return rb_assoc_new(types, classes);
}

/*
 * :nodoc: walk_counts(slots_only) -> [[[type, objects, bytes], ...], [[class, objects, bytes], ...]],
 * or nil. A type may be there twice; the class nil is that of Ruby's own objects. slots_only: the
 * bytes are those of the slots.
 */
static VALUE walk_counts(VALUE mod, VALUE slots_only)
{
	bool only = RTEST(slots_only);

	if (!mw_objspace.each_objects || !mw_objspace.memsize)
		return Qnil;
	return mw_with_result_owner(counts, &only);
}

void mw_init_heap_counts(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	rb_define_singleton_method(mod, "walk_counts", walk_counts, 1);
}
