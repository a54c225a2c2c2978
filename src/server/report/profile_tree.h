/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tree.h - the tree of a profile's stacks, for profile_tree.c and profile_tree_json.c alone.
 *
 * The tree is made of numbers: a node is the pair of its parent and its frame. A parent is made
 * before its children, so its number is smaller. Nothing calls itself, however deep a stack is.
 */
#pragma once

#include "shared/text/intern.h"
#include "shared/report/profile.h"

#define MW_TREE_NONE UINT32_MAX

struct mw_tree_node {
	int64_t value;
	uint64_t width, samples;
};

struct mw_tree {
	struct mw_intern keys; /* parent and frame, two uint32_t; number of the node: this one + 1 */
	struct mw_tree_node *nodes;
	size_t cap;
	bool failed;
};

static inline uint32_t mw_tree_count(const struct mw_tree *t)
{
	return t->keys.n + 1;
}

/* A node that stays. */
struct mw_tree_kept {
	uint32_t number, parent; /* among those that stay, as they were made */
	uint32_t node, frame;
	int64_t value;
	const struct mw_profile_frame *f;
};

struct mw_tree_step {
	uint32_t at, depth; /* at: among the sorted */
};

/* The nodes that stay, in preorder. */
struct mw_tree_plan {
	struct mw_tree tree;
	struct mw_tree_kept *kept;
	struct mw_tree_step *steps; /* NULL: no memory */
	uint32_t n;
};

void mw_tree_plan_make(struct mw_tree_plan *, const struct mw_profile *, const struct mw_profile_view *);
void mw_tree_plan_free(struct mw_tree_plan *);
