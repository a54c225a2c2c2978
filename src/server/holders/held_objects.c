/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * held_objects.c - sampled objects of Ruby's, as if they were blocks: held by the object that leads to them.
 *
 * An object that a root leads to is held by itself. So is one that isn't reached: it is garbage.
 */
#include "child.h"
#include "ruby.h"

/* The number of the object that holds it: what refers to it, or what that is a part of. */
static uint32_t holder_of(const struct mw_walk *w, uint32_t number)
{
	uint32_t parent = w->parent[number];

	while (parent && parent < (uint32_t)MW_ROOT) {
		number = parent - 1;
		if (!mw_ruby_is_part(mw_object_at(w, number)))
			break;
		parent = w->parent[number];
	}
	return number;
}

static void add_object(struct mw_walk *w, uint32_t sample, uint32_t number)
{
	const struct mw_holders_object *o = &w->sampled[sample];
	uint32_t i = w->n_blocks++;
	uint64_t bytes = o->bytes < MW_BLOCK_SIZE ? o->bytes : MW_BLOCK_SIZE;

	w->blocks[i] =
		(struct mw_block){ o->addr, bytes & MW_BLOCK_SIZE, false, false, o->id % MW_ID_END };
	w->via[i] = MW_VIA_OBJECT;
	w->by[i] = w->parent[number] ? MW_HELD_RUBY : MW_HELD_GARBAGE;
	w->from[i] = holder_of(w, number);
	w->of[i - w->n_found] = sample;
}

void mw_add_sampled(struct mw_walk *w)
{
	w->n_found = w->n_blocks;
	w->of = mw_child_map(w, (w->n_sampled + 1) * sizeof(*w->of));
	for (uint32_t i = 0; w->wanted && i < w->n_sampled; i++) {
		const struct mw_holders_object *o = &w->sampled[i];
		int64_t number = mw_object_number(w, o->addr);

		if (number >= 0 && o->id < MW_ID_END && w->wanted[o->id])
			add_object(w, i, (uint32_t)number);
	}
}
