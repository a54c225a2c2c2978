/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object.h"

#include "tracker/caller/locate.h"
#include "tracker/caller/ruby/state.h"
#include "tracker/stacks/stacks.h"
#include "sample.h"

uint32_t mw_object_here(uint32_t *stack)
{
	struct mw_shard *t = mw_ruby_above->thread();
	uint32_t id;

	if (stack)
		*stack = 0;
	if (!t)
		return MW_ID_NOWHERE;
	MW_GUARD(t);
	id = mw_ruby_locate(t);
	if (id != MW_CS_NONE) {
		mw_object_hold(id); /* before the thread leaves: nobody retires it meanwhile */
		if (stack)
			*stack = mw_sample_stack(id);
	}
	return id;
}

void mw_object_gone(uint32_t id, uint32_t stack)
{
	mw_stack_let_go(stack);
	mw_object_let_go(id);
}

void mw_objects_count(const struct mw_object_sum *sums, size_t n, const struct mw_object_stack *stacks,
		      size_t stacks_n)
{
	mw_objects_publish(sums, n);
	mw_stacks_put_objects(stacks, stacks_n);
}
