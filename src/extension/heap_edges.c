/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap_edges.h"

#include <string.h>

/* In intern.h of no Ruby; exported by all. */
void *rb_mod_const_at(VALUE mod, void *table);

struct look {
	struct mw_edges *to;
	const struct mw_referrers *found;
	const struct mw_hit *hit;
	uint32_t labelled;
};

static void add_edge(struct look *l, enum mw_edge_kind kind, ID id, uint32_t to)
{
	struct mw_edges *e = l->to;
	struct mw_edge *last = &e->v[sizeof(e->v) / sizeof(*e->v) - 1];

	l->labelled++;
	for (unsigned i = 0; i < e->n; i++) {
		if (e->v[i].kind == kind && e->v[i].id == id) {
			e->v[i].n++;
			return;
		}
	}
	if (&e->v[e->n] < last)
		e->v[e->n++] = (struct mw_edge){ kind, id, 1, to };
	else if (e->n == (unsigned)(last - e->v))
		e->v[e->n++] = (struct mw_edge){ MW_EDGE_OTHER, 0, 1, to };
	else
		last->n++;
}

static void see_reference(struct look *l, VALUE v, enum mw_edge_kind kind, ID id)
{
	uint32_t i = RB_SPECIAL_CONST_P(v) ? MW_NO_VALUE : mw_value_map_find(&l->found->map, v);

	if (i >= l->hit->from && i < l->hit->to && mw_node(l->found, i)->wanted)
		add_edge(l, kind, id, i);
}

static int see_variable(ID name, VALUE v, st_data_t ctx)
{
	see_reference((struct look *)ctx, v, MW_EDGE_VARIABLE, name);
	return ST_CONTINUE;
}

/* entry: Ruby's rb_const_entry_t, whose second word is the value in all versions so far. */
static int see_constant(st_data_t name, st_data_t entry, st_data_t ctx)
{
	see_reference((struct look *)ctx, ((const VALUE *)entry)[1], MW_EDGE_CONSTANT, name);
	return ST_CONTINUE;
}

static int see_pair(VALUE key, VALUE value, VALUE ctx)
{
	see_reference((struct look *)ctx, key, MW_EDGE_KEY, 0);
	see_reference((struct look *)ctx, value, MW_EDGE_VALUE, 0);
	return ST_CONTINUE;
}

/* Asks for no constant by its name: that could load a file. Private ones are there, too. */
static void see_module(struct look *l, VALUE mod)
{
	st_table *constants = rb_mod_const_at(mod, NULL);

	if (constants) {
		st_foreach(constants, see_constant, (st_data_t)l);
		st_free_table(constants);
	}
	if (mw_is_a(mod, RUBY_T_CLASS) && rb_class_get_superclass(mod))
		see_reference(l, rb_class_get_superclass(mod), MW_EDGE_SUPERCLASS, 0);
}

void mw_edges_find(struct mw_edges *to, const struct mw_referrers *found, const struct mw_hit *hit)
{
	struct look l = { to, found, hit, 0 };
	VALUE v = hit->object;
	enum ruby_value_type type = RB_BUILTIN_TYPE(v);

	to->n = 0;
	if (type != RUBY_T_IMEMO && type != RUBY_T_ICLASS)
		rb_ivar_foreach(v, see_variable, (st_data_t)&l);
	if (type == RUBY_T_CLASS || type == RUBY_T_MODULE)
		see_module(&l, v);
	else if (type == RUBY_T_ARRAY)
		for (long i = 0; i < RARRAY_LEN(v); i++)
			see_reference(&l, RARRAY_AREF(v, i), MW_EDGE_ELEMENT, 0);
	else if (type == RUBY_T_HASH)
		rb_hash_foreach(v, see_pair, (VALUE)&l);
	else if (type == RUBY_T_STRUCT)
		for (long i = 0; i < NUM2LONG(rb_struct_size(v)); i++)
			see_reference(&l, rb_struct_aref(v, LONG2FIX(i)), MW_EDGE_MEMBER, (ID)i);
	if (l.labelled < hit->n && RBASIC_CLASS(v) && !hit->from)
		see_reference(&l, RBASIC_CLASS(v), MW_EDGE_CLASS, 0);
	if (l.labelled < hit->n) {
		add_edge(&l, MW_EDGE_OTHER, 0, hit->first);
		to->v[to->n - 1].n += hit->n - l.labelled; /* l.labelled counts the one that was added */
	}
}

/* --- labels ---------------------------------------------------------------------- */

/* The label of the object's references that have no name of their own. */
static const char *other(VALUE v)
{
	static const struct {
		const char *type, *label;
	} imemos[] = { { "imemo_env", "local variable" },
		       { "imemo_iseq", "code" },
		       { "imemo_ment", "method" },
		       { "imemo_cref", "scope of constants" },
		       { "imemo_svar", "last match or line" } },
	  data[] = { { "proc", "closure" },    { "binding", "binding" },
		     { "method", "receiver" }, { "VM/thread", "stack" },
		     { "fiber", "stack" },     { "enumerator", "receiver or arguments" } };
	const char *name;

	switch (RB_BUILTIN_TYPE(v)) {
	case RUBY_T_IMEMO:
		name = mw_type_name(RUBY_T_IMEMO, mw_imemo_kind(v));
		for (size_t i = 0; i < sizeof(imemos) / sizeof(*imemos); i++)
			if (!strcmp(name, imemos[i].type))
				return imemos[i].label;
		return "C code";
	case RUBY_T_DATA:
		name = RTYPEDDATA_P(v) ? RTYPEDDATA_TYPE(v)->wrap_struct_name : "";
		for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
			if (!strcmp(name, data[i].type))
				return data[i].label;
		return "C structure";
	case RUBY_T_CLASS:
	case RUBY_T_MODULE:
	case RUBY_T_ICLASS:
		return "methods";
	case RUBY_T_HASH:
		return "hash default";
	case RUBY_T_ARRAY:
	case RUBY_T_STRING:
		return "shared contents";
	default:
		return "hidden reference";
	}
}

static VALUE name_of_id(ID id)
{
	VALUE name = rb_id2str(id);

	return RB_TYPE_P(name, T_STRING) ? name : rb_usascii_str_new_cstr("(hidden)");
}

/* Ruby's own variables have names that can't be written. */
static VALUE variable(ID id)
{
	VALUE name = name_of_id(id);

	return RSTRING_LEN(name) && *RSTRING_PTR(name) == '@' ? name : rb_sprintf("(%" PRIsVALUE ")", name);
}

static VALUE members(VALUE v)
{
	return rb_struct_members(v);
}

/* A Struct whose class was changed has no names for them. */
static VALUE member(VALUE v, long i)
{
	int failed = 0;
	VALUE all = rb_protect(members, v, &failed), name;

	if (failed) {
		rb_set_errinfo(Qnil);
		return rb_sprintf("member %ld", i);
	}
	name = rb_ary_entry(all, i);
	return RB_SYMBOL_P(name) ? rb_sprintf("member %" PRIsVALUE, rb_sym2str(name)) :
				   rb_sprintf("member %ld", i);
}

VALUE mw_edge_text(const struct mw_edge *e, VALUE object)
{
	switch (e->kind) {
	case MW_EDGE_VARIABLE:
		return variable(e->id);
	case MW_EDGE_CONSTANT:
		return name_of_id(e->id);
	case MW_EDGE_MEMBER:
		return member(object, (long)e->id);
	case MW_EDGE_ELEMENT:
		return rb_usascii_str_new_cstr("array element");
	case MW_EDGE_KEY:
		return rb_usascii_str_new_cstr("hash key");
	case MW_EDGE_VALUE:
		return rb_usascii_str_new_cstr("hash value");
	case MW_EDGE_CLASS:
		return rb_usascii_str_new_cstr("class");
	case MW_EDGE_SUPERCLASS:
		return rb_usascii_str_new_cstr("superclass");
	case MW_EDGE_OTHER:
	default:
		return rb_usascii_str_new_cstr(other(object));
	}
}
