/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heap.c - the objects that Ruby's roots reach, and by which object each was reached first. */
#include <string.h>

#include "child.h"
#include "first_fiber.h"
#include "heap.h"
#include "ruby.h"

struct mw_range mw_heap_range(const void *of, uint32_t i)
{
	const struct mw_heap_pages *p = of;

	return (struct mw_range){ p->v[i].start, p->v[i].start + (uintptr_t)p->v[i].n * p->v[i].slot };
}

/* Insertion into gaps that shrink: sorts without recursion and without memory. */
static void sort(struct mw_heap_slots *v, uint32_t n)
{
	for (uint32_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
		for (uint32_t i = gap; i < n; i++) {
			struct mw_heap_slots x = v[i];
			uint32_t k = i;

			for (; k >= gap && v[k - gap].start > x.start; k -= gap)
				v[k] = v[k - gap];
			v[k] = x;
		}
}

bool mw_heap_sort(struct mw_heap_pages *p)
{
	uint64_t number = 0;

	sort(p->v, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		p->v[i].first = (uint32_t)number;
		number += p->v[i].n;
	}
	return number < UINT32_MAX - MW_ROOTS - 1;
}

static const struct mw_heap_pages *pages_of(const struct mw_walk *w)
{
	return w->objects_at.of;
}

static int64_t number_in(const struct mw_heap_slots *p, uintptr_t word)
{
	return (int64_t)p->first + (int64_t)((word - p->start) / p->slot);
}

int64_t mw_object_number(const struct mw_walk *w, uintptr_t word)
{
	int64_t i = mw_ranges_find(&w->objects_at, word);

	return i < 0 ? -1 : number_in(&pages_of(w)->v[i], word);
}

bool mw_has_objects(const struct mw_walk *w, uintptr_t start, uintptr_t end)
{
	uint32_t low = 0, high = w->objects_at.n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (mw_heap_range(w->objects_at.of, middle).end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->objects_at.n && mw_heap_range(w->objects_at.of, low).start < end;
}

static const struct mw_heap_slots *page_with(const struct mw_walk *w, uint32_t number)
{
	const struct mw_heap_pages *p = pages_of(w);
	uint32_t low = 0, high = p->n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (p->v[middle].first <= number)
			low = middle;
		else
			high = middle;
	}
	return &p->v[low];
}

uintptr_t mw_object_at(const struct mw_walk *w, uint32_t number)
{
	const struct mw_heap_slots *p = page_with(w, number);

	return p->start + (uintptr_t)(number - p->first) * p->slot;
}

size_t mw_object_size(const struct mw_walk *w, uintptr_t object)
{
	int64_t i = mw_ranges_find(&w->objects_at, object);

	return i < 0 ? 0 : pages_of(w)->v[i].slot;
}

/* --- reaching ------------------------------------------------------------------- */

struct step {
	struct mw_walk *w;
	uint32_t parent;
};

static void reached(mw_ruby_value v, void *ctx)
{
	struct step *s = ctx;
	struct mw_walk *w = s->w;
	int64_t i = mw_ranges_find(&w->objects_at, v), number;

	if (i < 0)
		return;
	number = number_in(&pages_of(w)->v[i], v);
	if (w->parent[number])
		return;
	w->parent[number] = s->parent;
	w->reached_bytes += pages_of(w)->v[i].slot;
	w->queue[w->n_reached++] = v;
}

static uint32_t root_number(struct mw_walk *w, const char *category)
{
	uint32_t i = 0;

	while (i < MW_ROOTS - 1 && w->roots[i] && w->roots[i] != category)
		i++;
	if (!w->roots[i])
		w->roots[i] = category;
	return (uint32_t)MW_ROOT + i;
}

/*
 * How well a kind of root explains why an object lives, the best first. Ruby's own tables have each symbol's name:
 * whoever has the symbol says more. Compiled code refers to what it uses, such as
 * the value of a constant: the path from the constant says more. A stack or a register may have an object's
 * address by chance.
 */
enum worth { REFERS, OF_RUBY, COMPILED, BY_CHANCE, WORTHS };

/* A container without a class is Ruby's own. Objects that libraries registered are in such a one, too. */
static bool is_hidden(mw_ruby_value v)
{
	enum mw_ruby_type t = mw_ruby_type(v);

	return (t == MW_T_HASH || t == MW_T_ARRAY || t == MW_T_DATA) && !mw_ruby_class(v);
}

static enum worth worth_of(const char *category, mw_ruby_value v)
{
	if (!category)
		return REFERS;
	if (!strcmp(category, "global_symbols") || (!strcmp(category, "vm") && is_hidden(v)))
		return OF_RUBY;
	if (!strcmp(category, "YJIT") || !strcmp(category, "ZJIT"))
		return COMPILED;
	return strcmp(category, "machine_context") ? REFERS : BY_CHANCE;
}

struct round {
	struct mw_walk *w;
	enum worth worth;
};

static void reached_root(const char *category, mw_ruby_value v, void *ctx)
{
	const struct round *r = ctx;
	struct step s = { r->w, root_number(r->w, category ? category : "roots") };

	/* constants lead a path, by whatever way a Ruby reaches them: from 4.0 on by a Ractor's class */
	if (r->worth == REFERS && category && !strcmp(category, "vm"))
		reached(*mw_walk_ruby.rb_cObject, &s);
	if (worth_of(category, v) == r->worth)
		reached(v, &s);
}

/* thread: that which began with the object; 0: none did. Is that its parent? */
static bool is_of_thread(const struct mw_walk *w, uintptr_t object, uintptr_t thread)
{
	return thread &&
	       w->parent[mw_object_number(w, object)] == (uint32_t)mw_object_number(w, thread) + 1;
}

bool mw_is_part(const struct mw_walk *w, uintptr_t object)
{
	return mw_ruby_is_part(object) || is_of_thread(w, object, mw_began_with(object));
}

/* Others than its thread may have led to a thread's first Fiber. If the thread is reached, it has the Fiber. */
static void give_to_thread(struct mw_walk *w, uintptr_t object, uintptr_t thread)
{
	int64_t number = thread ? mw_object_number(w, thread) : -1;

	if (number >= 0 && w->parent[number])
		w->parent[mw_object_number(w, object)] = (uint32_t)number + 1;
}

/*
 * All that the objects from number `from` of the queue on lead to. A part's references count as the
 * object's own: a part is on no path but its own.
 */
static void follow_objects(struct mw_walk *w, uint32_t from)
{
	for (uint32_t i = from; i < w->n_reached; i++) {
		uintptr_t object = w->queue[i], thread = mw_began_with(object);
		uint32_t number = (uint32_t)mw_object_number(w, object);
		struct step s = { w, number + 1 };

		give_to_thread(w, object, thread);
		if (mw_ruby_is_part(object) || is_of_thread(w, object, thread))
			s.parent = w->parent[number];
		mw_walk_ruby.rb_objspace_reachable_objects_from(object, reached, &s);
		/* Ruby keeps a symbol's text for as long as the symbol, by a table of its own */
		if (mw_ruby_type(object) == MW_T_SYMBOL && mw_walk_ruby.rb_sym2str)
			reached(mw_walk_ruby.rb_sym2str(object), &s);
	}
}

void mw_reach_objects(struct mw_walk *w)
{
	const struct mw_heap_pages *p = pages_of(w);

	w->objects_at.windows = mw_child_map(w, MW_RANGES_WINDOWS_BYTES);
	w->objects_at.first = mw_child_map(w, mw_ranges_windows(&w->objects_at) + sizeof(uint32_t));
	mw_ranges_fill(&w->objects_at);
	w->n_objects = p->n ? p->v[p->n - 1].first + p->v[p->n - 1].n : 0;
	w->parent = mw_child_map(w, (size_t)w->n_objects * sizeof(*w->parent) + 1);
	w->queue = mw_child_map(w, (size_t)w->n_objects * sizeof(*w->queue) + 1);
	for (int i = 0; i < WORTHS; i++) {
		struct round r = { w, (enum worth)i };
		uint32_t first = w->n_reached;

		mw_walk_ruby.rb_objspace_reachable_objects_from_root(reached_root, &r);
		follow_objects(w, first);
	}
}
