/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preloads.h"

#include <dlfcn.h>
#include <link.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "real.h"

#define ADDRESS(function) ((const void *)(uintptr_t)(function))

/*
 * Does this malloc return glibc's own blocks? A large one has a mapping of its own then, begins two words behind its
 * page's beginning, and the word before has its size.
 */
static bool returns_glibcs(void *(*get)(size_t), void (*give)(void *))
{
	const size_t large = (size_t)33 << 20, mapped = 2;
	size_t word = 0;
	void *p;

	if (!mw_glibc_version())
		return false;
	p = get(large);
	if (p && (uintptr_t)p % mw_page_size() == 2 * sizeof(size_t))
		word = ((const size_t *)p)[-1];
	give(p);
	return (word & 7) == mapped && word > large && word < 2 * large;
}

/* --- in front ------------------------------------------------------------------- */

bool mw_reached;

/* The function that a call of this name reaches before ours; NULL: there is none. From now on mw_reached tells of calls. */
static void *in_front(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	mw_reached = false;
	return f && !mw_real_same_object(f, &mw_reached) ? f : NULL;
}

/*
 * Is the block of this function another allocator's, as no call came to us? Ends its life, unless it isn't known who
 * takes it: of two allocators in front, the second may have functions that the first, with free, lacks.
 */
static bool is_foreign(const void *get, void *block)
{
	void (*give)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
	bool foreign = !mw_reached;

	if (give && (!foreign || mw_real_same_object(get, ADDRESS(give))))
		give(block);
	return foreign;
}

/* name: of a function that takes a size alone. */
static bool keeps_block(const char *name)
{
	void *(*get)(size_t) = (void *(*)(size_t))in_front(name);

	return get && is_foreign(ADDRESS(get), get(24));
}

static bool keeps_calloc(void)
{
	void *(*get)(size_t, size_t) = (void *(*)(size_t, size_t))in_front("calloc");

	return get && is_foreign(ADDRESS(get), get(1, 24));
}

/* Of no block: that of another allocator would be none for it. */
static bool keeps_realloc(void)
{
	void *(*get)(void *, size_t) = (void *(*)(void *, size_t))in_front("realloc");
	void *(*array)(void *, size_t, size_t);
	bool keeps = get && is_foreign(ADDRESS(get), get(NULL, 24));

	array = (void *(*)(void *, size_t, size_t))in_front("reallocarray");
	return (array && is_foreign(ADDRESS(array), array(NULL, 1, 24))) || keeps;
}

static bool keeps_aligned(const char *name)
{
	void *(*get)(size_t, size_t) = (void *(*)(size_t, size_t))in_front(name);

	return get && is_foreign(ADDRESS(get), get(64, 64));
}

static bool keeps_posix_memalign(void)
{
	int (*get)(void **, size_t, size_t) = (int (*)(void **, size_t, size_t))in_front("posix_memalign");
	void *block = NULL;

	return get && !get(&block, 64, 64) && is_foreign(ADDRESS(get), block);
}

/* A block from beneath: both the allocator there and a wrapper that keeps frees to itself can take it. */
static bool keeps_free(void)
{
	void (*give)(void *) = (void (*)(void *))in_front("free");
	void *(*get)(size_t) = (void *(*)(size_t))mw_real_next("malloc");
	void *block = give && get ? get(24) : NULL;

	if (!block)
		return false;
	give(block);
	return !mw_reached;
}

/*
 * The function that a call of this name reaches, unless it is ours. In a process that ran before, `real` is as good, and
 * so is an entry of the program's for it.
 */
static void *first_other(const char *name, const void *real)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	if (!f || f == real || mw_real_same_object(f, &mw_reached) ||
	    (mw_real_joined && mw_real_of_program(f) && !mw_real_program_defines(name)))
		return NULL;
	return f;
}

static bool is_programs(const char *name)
{
	return mw_real_of_program(dlsym(RTLD_DEFAULT, name));
}

struct mw_first mw_first;

/* It has the four without which no allocator works, and doesn't pass them to the C library. */
static bool has_own_allocator(void)
{
	return is_programs("malloc") && is_programs("calloc") && is_programs("realloc") &&
	       is_programs("free") &&
	       !returns_glibcs((void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc"),
			       (void (*)(void *))dlsym(RTLD_DEFAULT, "free"));
}

static bool has_some(void)
{
#define MW_HOOK_REAL(name, result, params) \
	if (is_programs(#name))            \
		return true;
#include "api/hooks.def"
	return false;
}

const char *mw_behind_allocator(void)
{
	bool keeps;

	if (mw_real_joined || mw_real_of_program(&mw_reached))
		return NULL;
	/*
	 * Each is called, as wrappers look for their next function then. An allocator that keeps malloc has a free for its
	 * own blocks.
	 */
	keeps = keeps_block("malloc") || keeps_free();
	keeps = keeps_calloc() || keeps;
	keeps = keeps_realloc() || keeps;
	keeps = keeps_aligned("memalign") || keeps;
	keeps = keeps_aligned("aligned_alloc") || keeps;
	keeps = keeps_posix_memalign() || keeps;
	keeps = keeps_block("valloc") || keeps;
	keeps = keeps_block("pvalloc") || keeps;
	mw_first.all = keeps && has_own_allocator();
	if (!keeps || mw_first.all)
		return NULL;
	if (has_some())
		return "this program has a part of an allocator of its own: it runs untracked";
	return "LD_PRELOAD has another allocator in front, so this program runs untracked: put mwrap first";
}

void mw_first_find(const struct mw_real *r)
{
	if (mw_real_of_program(&mw_reached))
		return;
	mw_first.free = (void (*)(void *))first_other("free", ADDRESS(r->free));
	mw_first.realloc = (void *(*)(void *, size_t))first_other("realloc", ADDRESS(r->realloc));
	if (mw_real_joined)
		mw_first.all = mw_first.free && mw_first.realloc && has_own_allocator();
}

void *mw_real_beside(const char *name)
{
	void *f = in_front(name);

	return f ? f : mw_real_next(name);
}

/* --- beneath -------------------------------------------------------------------- */

/* If no single library has these, preloads pass some of them on: no allocator works without all four. */
static bool is_in_pieces(const struct mw_real *r)
{
	const void *m = ADDRESS(r->malloc);

	return !mw_real_same_object(m, ADDRESS(r->free)) || !mw_real_same_object(m, ADDRESS(r->calloc)) ||
	       !mw_real_same_object(m, ADDRESS(r->realloc));
}

/* Does f's library come behind m's in the dynamic linker's list? */
static bool comes_behind(const void *f, const void *m)
{
	struct mw_object of, than;

	if (!mw_object_of((uintptr_t)f, &of) || !mw_object_of((uintptr_t)m, &than) || of.map == than.map)
		return false;
	for (const struct link_map *l = mw_linker()->r_map; l; l = l->l_next)
		if (l == of.map || l == than.map)
			return l == than.map;
	return false;
}

/* Of a wrapper that leaves malloc_usable_size to the C library. */
static bool knows_rooms(const struct mw_real *r)
{
	struct mw_object o;

	return r->malloc_usable_size && mw_object_of((uintptr_t)r->malloc_usable_size, &o) &&
	       mw_is_libc(o.map) && returns_glibcs(r->malloc, r->free);
}

const char *mw_of_one_allocator(struct mw_real *r)
{
	struct mw_real own = *r;

	if (!is_in_pieces(r)) {
#define MW_HOOK_REAL(name, result, params)                                    \
	if (own.name && comes_behind(ADDRESS(own.name), ADDRESS(own.malloc))) \
		own.name = NULL;
#include "api/hooks.def"
	}
	if (own.malloc_usable_size)
		*r = own;
	else if (!knows_rooms(r))
		return "the allocator that LD_PRELOAD has lacks malloc_usable_size, so this program runs untracked";
	return NULL;
}
