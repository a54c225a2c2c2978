/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_room.c - the lists of stacks, which grow, and room in the tables once one of them is full. */
#include "tracker/table/callsite.h"
#include "stack_frames.h"
#include "stacks_rows.h"

/* --- lists ---------------------------------------------------------------------------- */

/* A row that was given back, or is free, is in none. */

static uint32_t link_node(uint32_t i)
{
	struct mw_node *n = mw_node_at(i);
	uint32_t *head = n->frame ? mw_head(&mw_nodes_of, mw_node_hash(n->parent, n->frame)) : NULL;

	if (head) {
		n->next = *head & MW_NODE_MASK;
		*head = i;
	}
	return i + 1;
}

static uint32_t link_stack(uint32_t i)
{
	struct mw_stack_sums *s = mw_stack_at(i);

	if (s->id)
		mw_push(mw_head(&mw_stacks_of, s->hash), &s->next, i);
	return i + 1;
}

static uint32_t link_sample(uint32_t i)
{
	struct mw_stack_sample *s = mw_stack_sample_at(i);

	if (s->ref)
		mw_push(mw_head(&mw_samples_of, mw_mix(s->ref)), &s->next, i);
	return i + 1;
}

struct mw_heads mw_nodes_of = { 2048, 32768, NULL, link_node };
struct mw_heads mw_stacks_of = { 1024, 4096, NULL, link_stack };
struct mw_heads mw_samples_of = { 1024, 4096, NULL, link_sample };

void mw_stacks_fit(void)
{
	mw_heads_fit(&mw_nodes_of, mw_get(&mw_stacks_figures.nodes), mw_node_rows.n);
	mw_heads_fit(&mw_stacks_of, mw_get(&mw_stacks_figures.stacks), mw_stack_rows.n);
	mw_heads_fit(&mw_samples_of, mw_get(&mw_stacks_figures.live), mw_sample_rows.n);
	mw_frames_fit();
}

/* --- room ----------------------------------------------------------------------------- */

/*
 * If a table is full, stacks without a live sample, of a block or of an object, go: those with dead frames or of a
 * retired location, and those without an allocation since the reset; if these are few, also those with few samples.
 * Their counts go to their location without a caller.
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
	if (!s->id || s->live || mw_get(&s->held))
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

	while (*link && *link != i) /* in a forked child it may be in no list: rows.c */
		link = &mw_stack_at(*link)->next;
	if (*link)
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

		for (; node && !mw_node_at(node)->used; node = mw_node_at(node)->parent)
			mw_node_at(node)->used = 1;
	}
	mw_heads_clear(&mw_nodes_of);
	for (uint32_t i = 1; i < mw_node_rows.n; i++) {
		struct mw_node *n = mw_node_at(i);

		if (!n->frame) /* it is given back already */
			continue;
		if (!n->used) {
			mw_rows_give(&mw_node_rows, i);
			given++;
			continue;
		}
		n->used = 0;
		mw_frame_at(n->frame)->used = true;
		(void)link_node(i);
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
