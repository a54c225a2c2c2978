/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby.h - Ruby's exported functions for a walk, found by dlsym, and its objects' layout.
 *
 * Any may be missing. For the parent only: `each_objects`, which finishes a collection that is under
 * way, what makes, frees and protects a table, and what globals.c reads. The others allocate nothing, take no lock but
 * the VM's, and may be called in the child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t mw_ruby_value;

/* How Ruby's tables compare keys, and hash them: its public st_hash_type. */
struct mw_ruby_hash_type {
	int (*differ)(uintptr_t, uintptr_t);
	uintptr_t (*hash)(uintptr_t);
};

/* name, result, parameters, required? */
#define MW_FOR_EACH_WALK(X)                                                                            \
	X(rb_objspace_each_objects, void, (int (*)(void *, void *, size_t, void *), void *), true)     \
	X(rb_objspace_reachable_objects_from_root, void,                                               \
	  (void (*)(const char *, mw_ruby_value, void *), void *), true)                               \
	X(rb_objspace_reachable_objects_from, void,                                                    \
	  (mw_ruby_value, void (*)(mw_ruby_value, void *), void *), true)                              \
	X(ruby_thread_has_gvl_p, int, (void), true)                                                    \
	X(rb_during_gc, int, (void), true)                                                             \
	X(rb_gc_count, size_t, (void), true)                                                           \
	X(rb_mod_name, mw_ruby_value, (mw_ruby_value), true)                                           \
	X(rb_class_real, mw_ruby_value, (mw_ruby_value), true)                                         \
	X(rb_string_value_ptr, char *, (volatile mw_ruby_value *), true)                               \
	X(rb_class_superclass, mw_ruby_value, (mw_ruby_value), false)                                  \
	X(rb_imemo_name, const char *, (int), false)                                                   \
	X(rb_objspace_data_type_name, const char *, (mw_ruby_value), false)                            \
	X(rb_class_attached_object, mw_ruby_value, (mw_ruby_value), false)                             \
	X(rb_attr_get, mw_ruby_value, (mw_ruby_value, uintptr_t), false)                               \
	X(rb_intern, uintptr_t, (const char *), false)                                                 \
	X(rb_ivar_foreach, void,                                                                       \
	  (mw_ruby_value, int (*)(uintptr_t, mw_ruby_value, uintptr_t), uintptr_t), false)             \
	X(rb_id2name, const char *, (uintptr_t), false)                                                \
	X(rb_sym2str, mw_ruby_value, (mw_ruby_value), false)                                           \
	X(rb_thread_local_aref, mw_ruby_value, (mw_ruby_value, uintptr_t), false)                      \
	X(rb_thread_current, mw_ruby_value, (void), false)                                             \
	X(rb_thread_main, mw_ruby_value, (void), false)                                                \
	X(rb_hash_foreach, void,                                                                       \
	  (mw_ruby_value, int (*)(mw_ruby_value, mw_ruby_value, mw_ruby_value), mw_ruby_value), false) \
	X(rb_mod_const_at, void *, (mw_ruby_value, void *), false)                                     \
	X(rb_st_init_table_with_size, void *, (const struct mw_ruby_hash_type *, uintptr_t), false)    \
	X(rb_st_foreach, int, (void *, int (*)(uintptr_t, uintptr_t, uintptr_t), uintptr_t), false)    \
	X(rb_st_clear, void, (void *), false)                                                          \
	X(rb_st_free_table, void, (void *), false)                                                     \
	X(rb_protect, mw_ruby_value, (mw_ruby_value(*)(mw_ruby_value), mw_ruby_value, int *), false)   \
	X(rb_vm_lock_enter_body, void, (unsigned *), false)                                            \
	X(rb_vm_lock_leave_body, void, (unsigned *), false)                                            \
	X(rb_f_global_variables, mw_ruby_value, (void), false)                                         \
	X(rb_gv_get, mw_ruby_value, (const char *), false)                                             \
	X(rb_ary_entry, mw_ruby_value, (mw_ruby_value, long), false)                                   \
	X(rb_ary_clear, mw_ruby_value, (mw_ruby_value), false)                                         \
	X(rb_sym2id, uintptr_t, (mw_ruby_value), false)                                                \
	X(rb_errinfo, mw_ruby_value, (void), false)                                                    \
	X(rb_set_errinfo, void, (mw_ruby_value), false)                                                \
	X(rb_gc_enable, mw_ruby_value, (void), false)                                                  \
	X(rb_gc_disable, mw_ruby_value, (void), false)

struct mw_walk_ruby {
#define X(name, result, params, needed) result(*name) params;
	MW_FOR_EACH_WALK(X)
#undef X
	const mw_ruby_value *rb_cObject;
	uintptr_t attached; /* the ID of a singleton class's object; 0: not known */
	uintptr_t singleton; /* the flag of singleton classes; 0: not known */
};
extern struct mw_walk_ruby mw_walk_ruby;

/* Writes the address of an exported function or variable to *to. False: there is none, and NULL. */
bool mw_walk_ruby_look_up(void *to, const char *name);
/* Looks the functions up. False: *missing is one that is required. Any thread, once Ruby is up. */
bool mw_walk_ruby_find(const char **missing);
/* Learns the rest, which needs the GVL. */
void mw_walk_ruby_learn(void);
/* In the parent, with the GVL: calls f, and forgets what it raises. No call if Ruby can't do so. */
void mw_walk_ruby_try(mw_ruby_value (*f)(mw_ruby_value), mw_ruby_value arg);

/* Types of objects, as in Ruby's public headers. */
enum mw_ruby_type {
	MW_T_NONE = 0,
	MW_T_OBJECT = 1,
	MW_T_CLASS = 2,
	MW_T_MODULE = 3,
	MW_T_FLOAT = 4,
	MW_T_STRING = 5,
	MW_T_REGEXP = 6,
	MW_T_ARRAY = 7,
	MW_T_HASH = 8,
	MW_T_BIGNUM = 10,
	MW_T_FILE = 11,
	MW_T_DATA = 12,
	MW_T_SYMBOL = 20,
	MW_T_IMEMO = 26,
	MW_T_ICLASS = 28,
	MW_T_ZOMBIE = 29,
	MW_T_MOVED = 30
};
enum { MW_T_MASK = 31 };

static inline uintptr_t mw_ruby_word(mw_ruby_value v, unsigned i)
{
	return ((const uintptr_t *)v)[i];
}

static inline enum mw_ruby_type mw_ruby_type(mw_ruby_value v)
{
	return (enum mw_ruby_type)(mw_ruby_word(v, 0) & MW_T_MASK);
}

static inline bool mw_ruby_is_object(mw_ruby_value v)
{
	enum mw_ruby_type t = mw_ruby_type(v);

	return t != MW_T_NONE && t != MW_T_MOVED;
}

static inline bool mw_ruby_is_module(mw_ruby_value v)
{
	enum mw_ruby_type t = mw_ruby_type(v);

	return t == MW_T_CLASS || t == MW_T_MODULE;
}

/*
 * Its class as the object has it, maybe a singleton one; 0: none. One that waits for its finalizer has lost it: Ruby 4.0
 * keeps the next one that waits there.
 */
static inline mw_ruby_value mw_ruby_class(mw_ruby_value v)
{
	return mw_ruby_type(v) == MW_T_ZOMBIE ? 0 : mw_ruby_word(v, 1);
}

/* The number of an internal object's type. Ruby's versions number the types differently. */
static inline unsigned mw_ruby_imemo(mw_ruby_value v)
{
	return mw_ruby_word(v, 0) >> 12 & 15;
}

/* An object's role in a walk. For the child alone. */
enum mw_ruby_role {
	MW_ROLE_OWN = 1,
	MW_ROLE_TRANSIENT, /* one of Ruby's own that owns no memory, and may have any words */
	MW_ROLE_PART,      /* a part of the object that leads to it: its variables */
	MW_ROLE_CACHES     /* a part that has a class's caches of calls */
};
enum mw_ruby_role mw_ruby_role(mw_ruby_value);

static inline bool mw_ruby_is_part(mw_ruby_value v)
{
	return mw_ruby_role(v) >= MW_ROLE_PART;
}
