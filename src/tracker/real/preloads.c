/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preloads.h"

#include <dlfcn.h>
#include <link.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "real.h"

#define ADDRESS(function) ((const void *)(uintptr_t)(function))

/* --- in front ------------------------------------------------------------------- */

bool mw_reached;

/* The preload's function that a call of this name reaches before ours; NULL: there is none. */
static void *in_front(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	mw_reached = false;
	return f && !mw_real_of_program(f) && !mw_real_same_object(f, &mw_real) ? f : NULL;
}

/* Is the block another allocator's, as no call came to us? Ends its life. */
static bool is_foreign(void *block)
{
	void (*give)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
	bool foreign = !mw_reached;

	if (give)
		give(block);
	return foreign;
}

static bool keeps_malloc(void)
{
	void *(*get)(size_t) = (void *(*)(size_t))in_front("malloc");

	return get && is_foreign(get(24));
}

static bool keeps_calloc(void)
{
	void *(*get)(size_t, size_t) = (void *(*)(size_t, size_t))in_front("calloc");

	return get && is_foreign(get(1, 24));
}

/* Of no block: that of another allocator would be none for it. */
static bool keeps_realloc(void)
{
	void *(*get)(void *, size_t) = (void *(*)(void *, size_t))in_front("realloc");

	return get && is_foreign(get(NULL, 24));
}

/* A block from beneath: both the allocator there and a preload that keeps frees to itself can take it. */
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

bool mw_is_behind_allocator(void)
{
	/* malloc first: an allocator that keeps it has a free for its own blocks only */
	return !mw_real_joined && !mw_real_of_program(&mw_real) &&
	       (keeps_malloc() || keeps_calloc() || keeps_realloc() || keeps_free());
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

/*
 * A wrapper of all but malloc_usable_size, which is the C library's here: does it return glibc's own blocks? A large one
 * has a mapping of its own then, begins two words behind its page's beginning, and the word before has its size.
 */
static bool returns_glibcs(const struct mw_real *r)
{
	const size_t large = (size_t)33 << 20, mapped = 2;
	struct mw_object o;
	size_t word = 0;
	void *p;

	if (!mw_glibc_version() || !mw_object_of((uintptr_t)r->malloc_usable_size, &o) ||
	    !mw_is_libc(o.map))
		return false;
	p = r->malloc(large);
	if (p && (uintptr_t)p % mw_page_size() == 2 * sizeof(size_t))
		word = ((const size_t *)p)[-1];
	r->free(p);
	return (word & 7) == mapped && word > large && word < 2 * large;
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
	else if (!r->malloc_usable_size || !returns_glibcs(r))
		return "the allocator that LD_PRELOAD has lacks malloc_usable_size, so this program runs untracked";
	return NULL;
}
