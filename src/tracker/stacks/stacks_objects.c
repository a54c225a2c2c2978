/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_objects.c - the stacks of sampled objects of Ruby's. See stacks.h. */
#include "stacks_rows.h"

uint32_t mw_stack_hold(const struct mw_walk *w, uint32_t id)
{
	uint32_t i;

	mw_stacks_fit();
	i = mw_stack_take(w, id);
	if (i)
		mw_add(&mw_stack_at(i)->held, 1);
	return i;
}

void mw_stack_let_go(uint32_t stack)
{
	if (stack)
		mw_add(&mw_stack_at(stack)->held, (uint32_t)-1);
}

void mw_stacks_put_objects(const struct mw_object_stack *v, size_t n)
{
	if ((!n && !mw_get(&mw_stacks_figures.stacks)) || !mw_stacks_lock())
		return;
	for (uint32_t i = 1; i < mw_stack_rows.n; i++) {
		struct mw_stack_sums *s = mw_stack_at(i);

		s->object_samples = 0;
		s->objects = s->object_bytes = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct mw_stack_sums *s = mw_stack_at(v[i].stack);

		if (s->id != v[i].id) /* its last sample died meanwhile, and its row is another's */
			continue;
		s->object_samples = v[i].samples;
		s->objects = v[i].objects;
		s->object_bytes = v[i].bytes;
	}
	mw_stacks_unlock();
}
