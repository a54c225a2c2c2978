/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_room.c - makes room in the tables of stacks once one of them is full. */
#include "callsite.h"
#include "stack_frames.h"
#include "stacks_rows.h"

/*
 * Where something is full, stacks go that have no live sample: those with dead frames or of a retired
 * location, and those that nothing was allocated by since the reset; if these are few, also those
 * with few samples. What they counted goes to their location without a caller.
 */

static void count_live(void)
{
	mw_samples_bury();
	for (uint32_t i = 1; i < mw_stack_rows.n; i++)
		mw_stack_at(i)->live = 0;
	for (uint32_t i = 1; i < mw_sample_rows.n; i++)
		if (mw_stack_sample_at(i)->ref)
			mw_stack_at(mw_stack_sample_at(i)->stack)->live++;
}

/* Is the stack to go? few: so many samples aren't enough to stay. */
static bool goes(const struct mw_stack_sums *s, uint32_t few)
{
	if (!s->id || s->live)
		return false;
	if (s->since != mw_get(&mw_callsite(s->id)->since))
		return true;
	return s->node && (s->samples <= few || mw_some_frame_died(s->node));
}

static void fold(const struct mw_stack_sums *s)
{
	uint64_t alone = mw_mix(s->id);
	uint32_t *head = mw_head(&mw_stacks_of, alone), i = mw_stack_known(alone, *head);
	struct mw_stack_sums *to;

	if (!i)
		i = mw_stack_add(alone, head, s->id, 0);
	if (!i)
		return;
	to = mw_stack_at(i);
	to->samples += s->samples;
	to->bytes += s->bytes;
	to->blocks += s->blocks;
	to->ever += s->ever;
}

static void unlink_stack(uint32_t i)
{
	uint32_t *link = mw_head(&mw_stacks_of, mw_stack_at(i)->hash);

	while (*link != i)
		link = &mw_stack_at(*link)->next;
	*link = mw_stack_at(i)->next;
}

static uint32_t drop_stacks(uint32_t few)
{
	uint32_t dropped = 0;

	for (uint32_t i = 1; i < mw_stack_rows.n; i++) {
		struct mw_stack_sums was = *mw_stack_at(i);

		if (!goes(&was, few))
			continue;
		unlink_stack(i);
		mw_rows_give(&mw_stack_rows, i);
		COUNT(stacks, (uint32_t)-1);
		if (was.ever > 0 && was.since == mw_get(&mw_callsite(was.id)->since))
			fold(&was);
		dropped++;
	}
	return dropped;
}

/* Nodes that no stack has, and then their frames. */
static void sweep_nodes(void)
{
	uint32_t given = 0;

	for (uint32_t i = 1; i < mw_stack_rows.n; i++) {
		uint32_t node = mw_stack_at(i)->id ? mw_stack_at(i)->node : 0;

		for (; node && !(mw_node_at(node)->frame & USED); node = mw_node_at(node)->parent)
			mw_node_at(node)->frame |= USED;
	}
	mw_heads_clear(&mw_nodes_of);
	for (uint32_t i = 1; i < mw_node_rows.n; i++) {
		struct mw_node *n = mw_node_at(i);
		uint32_t *head;

		if (!n->frame) /* it is given back already */
			continue;
		if (!(n->frame & USED)) {
			mw_rows_give(&mw_node_rows, i);
			given++;
			continue;
		}
		n->frame &= ~USED;
		mw_frame_at(n->frame)->used = true;
		head = mw_head(&mw_nodes_of, mw_mix((uint64_t)n->parent << 32 | n->frame));
		n->next = *head;
		*head = i;
	}
	COUNT(nodes, (uint32_t)-given);
	(void)mw_frames_sweep();
}

bool mw_stacks_make_room(void)
{
	static const uint32_t few[] = { 0, 1, 4, 16 };
	static uint64_t next;
	uint64_t now = mw_get(&mw_stacks_figures.samples);
	uint32_t dropped = 0, enough;

	if (now < next || !mw_samples_of.first)
		return false;
	/* so many samples take far longer than the sweep */
	next = now + 64 + mw_stack_rows.n / 4 + mw_node_rows.n / 16 + mw_sample_rows.n / 16;
	enough = mw_get(&mw_stacks_figures.stacks) / 8 + 1;
	count_live();
	for (size_t i = 0; i < sizeof(few) / sizeof(*few) && dropped < enough; i++)
		dropped += drop_stacks(few[i]);
	sweep_nodes();
	return true;
}
