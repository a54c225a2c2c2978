/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_find.c - finds who refers to an object, or to the instances of a class.
 *
 * Each pass asks every object of the heap for its references, and keeps those objects that refer to
 * one that the pass before has found. Ruby's own objects (an env with a block's variables, code,
 * hidden arrays) mean nothing to a reader. So a pass looks for who refers to these, too, and
 * they don't count as a level.
 *
 * heap_edges.c says through what a reference goes.
 */
#include <string.h>

#include "heap_edges.h"

static VALUE cFiber;
static ID id_self, id_class, id_type;

enum {
	TARGETS_MAX = 1000000, /* with their numbers, 36 bytes each */
	HITS_MAX = 100000,
	PASSES_MAX = 24,
	STEPS_MAX = 6, /* of Ruby's own objects in a row; code may be nested deeper */
};

struct find {
	struct mw_referrers found;
	struct mw_buf *hits;
	uint32_t from, to; /* the numbers of the objects that this pass looks for */
	uint32_t depth;
	VALUE thread; /* the one that looks, which refers to what it finds */
	const struct mw_value_map *classes; /* their instances are looked for */
	/* of the object that is being asked */
	VALUE asked, own_class, fields;
	uint32_t first, n;
	bool wanted; /* the next pass has something to look for */
	bool cut;    /* there are more that refer to it */
	bool partly; /* there are more to look for */
};

/* Adds what a pass is to look for, or has found. A number from before keeps its node. */
static void add_node(struct find *f, VALUE v, struct mw_node n)
{
	uint32_t i = mw_value_map_add(&f->found.map, v);

	if (i == MW_NO_VALUE || i != f->found.nodes->n / sizeof(n))
		return;
	mw_buf_add(f->found.nodes, &n, sizeof(n));
	f->wanted |= n.wanted;
}

static bool failed(const struct find *f)
{
	return f->found.map.keys->failed || f->found.map.slots->failed || f->found.nodes->failed ||
	       f->hits->failed;
}

/* --- the passes ------------------------------------------------------------------- */

/* From 4.0 on an object's variables may be in one of Ruby's own objects: it is taken for a part of theirs. */
static bool is_fields(VALUE v)
{
	return mw_is_a(v, RUBY_T_IMEMO) && mw_imemo_is(v, "fields");
}

static void see_ref(VALUE v, void *ctx)
{
	struct find *f = ctx;
	uint32_t i;

	if (is_fields(v)) {
		f->fields = v;
		return;
	}
	/* each object refers to its class; only who asks about a class wants to know */
	if (f->from && v == f->own_class) {
		f->own_class = 0;
		return;
	}
	i = mw_value_map_find(&f->found.map, v);
	if (i < f->from || i >= f->to || !mw_node(&f->found, i)->wanted)
		return;
	/* an object's singleton class lives and dies with it */
	if (RBASIC_CLASS(v) == f->asked && RB_FL_TEST_RAW(f->asked, RUBY_FL_SINGLETON))
		return;
	if (!f->n++)
		f->first = i;
}

/* A thread or Ruby itself keeps these for speed only. */
static bool is_cache(VALUE v)
{
	static const char *const caches[] = { "callinfo", "callcache", "constcache", "cvar_entry" };

	for (size_t i = 0; mw_is_a(v, RUBY_T_IMEMO) && i < sizeof(caches) / sizeof(*caches); i++)
		if (mw_imemo_is(v, caches[i]))
			return true;
	return false;
}

/* Paths end at a module, thread or Fiber: its own referrers explain nothing more. */
static bool is_end(VALUE v)
{
	if (mw_is_a(v, RUBY_T_DATA) && mw_visible_class(v))
		return RTEST(rb_obj_is_kind_of(v, rb_cThread)) || RTEST(rb_obj_is_kind_of(v, cFiber));
	return mw_is_a(v, RUBY_T_CLASS) || mw_is_a(v, RUBY_T_MODULE);
}

static void see_object(VALUE v, size_t slot, void *ctx)
{
	struct find *f = ctx;
	const struct mw_node *to;
	struct mw_hit hit;
	struct mw_node n;

	if (!mw_is_whole(v) || v == f->thread || is_cache(v) || is_fields(v) || failed(f))
		return;
	f->n = 0;
	f->asked = v;
	f->own_class = RBASIC_CLASS(v);
	f->fields = 0;
	mw_objspace.reachable(v, see_ref, f);
	if (f->fields)
		mw_objspace.reachable(f->fields, see_ref, f);
	if (!f->n)
		return;
	if (f->hits->n / sizeof(hit) >= HITS_MAX) {
		f->cut = true;
		return;
	}
	to = mw_node(&f->found, f->first);
	n.level = to->internal && to->level ? to->level : to->level + 1;
	n.internal = !mw_visible_class(v);
	n.steps = n.internal ? to->steps + 1 : 0;
	n.wanted = n.internal ? n.steps < STEPS_MAX : n.level < f->depth && !is_end(v);
	hit = (struct mw_hit){ v, f->first, f->n, n.level, f->from, f->to };
	mw_buf_add(f->hits, &hit, sizeof(hit));
	add_node(f, v, n);
}

static void see_instance(VALUE v, size_t slot, void *ctx)
{
	struct find *f = ctx;

	if (mw_value_map_find(f->classes, mw_visible_class(v)) == MW_NO_VALUE || !mw_is_whole(v))
		return;
	if (mw_value_map_size(&f->found.map) >= TARGETS_MAX)
		f->partly = true;
	else
		add_node(f, v, (struct mw_node){ .wanted = true });
}

static void add_instances(struct find *f, VALUE classes)
{
	struct mw_buf keys = { 0 }, slots = { 0 };
	struct mw_value_map map = { &keys, &slots };

	for (long i = 0; i < RARRAY_LEN(classes); i++)
		mw_value_map_add(&map, RARRAY_AREF(classes, i));
	f->classes = &map;
	if (keys.failed || slots.failed)
		f->found.nodes->failed = true;
	else
		mw_each_object(see_instance, f);
	mw_buf_free(&keys);
	mw_buf_free(&slots);
}

struct address {
	uintptr_t at;
	bool found;
};

static int see_page(void *start, void *end, size_t slot, void *ctx)
{
	struct address *a = ctx;

	if (a->at < (uintptr_t)start || a->at + slot > (uintptr_t)end)
		return 0;
	a->found = (a->at - (uintptr_t)start) % slot == 0 && mw_is_whole((VALUE)a->at);
	return 1;
}

static void add_address(struct find *f, uintptr_t address)
{
	struct address a = { address, false };

	mw_objspace.each_objects(see_page, &a);
	if (a.found)
		add_node(f, (VALUE)address,
			 (struct mw_node){ .internal = !mw_visible_class((VALUE)address), .wanted = true });
}

static void walk_in_passes(struct find *f)
{
	for (unsigned i = 0; i < PASSES_MAX && f->wanted && !failed(f) && !f->cut; i++) {
		f->from = f->to;
		f->to = mw_value_map_size(&f->found.map);
		f->wanted = false;
		mw_each_object(see_object, f);
	}
}

/* --- roots ------------------------------------------------------------------------ */

struct roots {
	const struct mw_referrers *found;
	struct mw_buf *to;
};

struct root {
	const char *category; /* Ruby's, static */
	uint32_t to;
};

/* The machine context is the stack of the thread that looks. */
static void see_root(const char *category, VALUE v, void *ctx)
{
	const struct roots *r = ctx;
	struct root root = { category, mw_value_map_find(&r->found->map, v) };

	if (root.to != MW_NO_VALUE && mw_node(r->found, root.to)->wanted &&
	    strcmp(category, "machine_context"))
		mw_buf_add(r->to, &root, sizeof(root));
}

/* --- to Ruby ---------------------------------------------------------------------- */

struct question {
	VALUE of; /* an Array of classes, or an address */
	uint32_t depth;
};

/* An object as Ruby code sees it. */
struct about {
	VALUE what; /* a module, thread or Fiber itself; the class of any other; the name of the type of Ruby's own */
	VALUE how; /* :self, :class or :type */
};

static struct about about(VALUE v)
{
	VALUE class = mw_visible_class(v);

	if (!class)
		return (struct about){
			rb_usascii_str_new_cstr(mw_type_name(
				RB_BUILTIN_TYPE(v), mw_is_a(v, RUBY_T_IMEMO) ? mw_imemo_kind(v) : 0)),
			ID2SYM(id_type)
		};
	return is_end(v) ? (struct about){ v, ID2SYM(id_self) } : (struct about){ class, ID2SYM(id_class) };
}

static void push_hit(VALUE all, const struct mw_referrers *f, const struct mw_hit *hit)
{
	struct about from = about(hit->object);
	VALUE number = UINT2NUM(mw_value_map_find(&f->map, hit->object));
	struct mw_edges edges;

	mw_edges_find(&edges, f, hit);
	for (unsigned i = 0; i < edges.n; i++) {
		const struct mw_edge *e = &edges.v[i];
		VALUE to = mw_value_map_at(&f->map, e->to);
		struct about of = about(to);

		rb_ary_push(all, rb_ary_new_from_args(11, UINT2NUM(hit->level), number, from.what,
						      from.how, ULL2NUM(hit->object),
						      mw_edge_text(e, hit->object), UINT2NUM(e->n),
						      UINT2NUM(e->to), of.what, of.how, ULL2NUM(to)));
	}
}

static VALUE hits(const struct find *f)
{
	VALUE all = rb_ary_new();

	for (size_t i = 0; i < f->hits->n / sizeof(struct mw_hit); i++)
		push_hit(all, &f->found, (const struct mw_hit *)f->hits->p + i);
	return all;
}

static VALUE roots(const struct mw_referrers *f, struct mw_buf *rows)
{
	struct roots r = { f, rows };
	VALUE all = rb_ary_new();

	rows->n = 0;
	mw_tracker->quiet_enter();
	if (mw_objspace.roots)
		mw_objspace.roots(see_root, &r);
	mw_tracker->quiet_leave();
	if (rows->failed)
		mw_no_memory();
	for (size_t i = 0; i < rows->n / sizeof(struct root); i++) {
		const struct root *root = (const struct root *)rows->p + i;
		VALUE to = mw_value_map_at(&f->map, root->to);
		struct about of = about(to);

		rb_ary_push(all, rb_ary_new_from_args(6, UINT2NUM(mw_node(f, root->to)->level),
						      rb_usascii_str_new_cstr(root->category),
						      UINT2NUM(root->to), of.what, of.how, ULL2NUM(to)));
	}
	return all;
}

static VALUE find_holders(struct mw_result_owner *hold, void *arg)
{
	const struct question *q = arg;
	struct mw_seen *seen = mw_result_owner_sees(hold);
	struct find f = { .found = { { &seen->objects, &seen->index }, &hold->text },
			  .hits = &seen->rows,
			  .depth = q->depth,
			  .thread = rb_thread_current() };
	VALUE found;
	uint32_t n;

	seen->walking = true;
	mw_tracker->quiet_enter();
	if (mw_is_a(q->of, RUBY_T_ARRAY))
		add_instances(&f, q->of);
	else
		add_address(&f, NUM2ULL(q->of));
	n = mw_value_map_size(&f.found.map);
	walk_in_passes(&f);
	mw_tracker->quiet_leave();
	seen->walking = false;
	if (failed(&f))
		mw_no_memory();
	if (!n && !mw_is_a(q->of, RUBY_T_ARRAY))
		return Qfalse;
	found = hits(&f);
	return rb_ary_new_from_args(4, UINT2NUM(n), found, roots(&f.found, &seen->rows),
				    f.cut || f.partly ? Qtrue : Qfalse);
}

/*
 * :nodoc: walk_find(classes or an address, depth) -> [number of objects looked for, hits, roots, is
 * it cut short], nil, or false if there is no such object.
 *
 * A hit is [level, number, what it is, :self or :class or :type, address, label, references, number of
 * what it refers to, what that is, :self ..., address]. A root is [level of what it refers to,
 * category, number of that, what that is, :self ..., address]. Objects are numbered as they were
 * found, those looked for first.
 */
static VALUE walk_find(VALUE mod, VALUE of, VALUE depth)
{
	struct question q = { of, NUM2UINT(depth) };

	if (!mw_objspace.each_objects || !mw_objspace.reachable)
		return Qnil;
	return mw_with_result_owner(find_holders, &q);
}

/* :nodoc: address_of(object) -> Integer, or nil: it is none of the heap's, such as 1 and nil */
static VALUE address_of(VALUE mod, VALUE object)
{
	return RB_SPECIAL_CONST_P(object) ? Qnil : ULL2NUM(object);
}

/* :nodoc: global(name) -> value, without code that is evaluated */
static VALUE global(VALUE mod, VALUE name)
{
	return rb_gv_get(rb_id2name(rb_sym2id(name)));
}

void mw_init_heap_find(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	id_self = rb_intern("self");
	id_class = rb_intern("class");
	id_type = rb_intern("type");
	cFiber = rb_const_get(rb_cObject, rb_intern("Fiber"));
	rb_gc_register_mark_object(cFiber);
	rb_define_singleton_method(mod, "walk_find", walk_find, 2);
	rb_define_singleton_method(mod, "address_of", address_of, 1);
	rb_define_singleton_method(mod, "global", global, 1);
}
