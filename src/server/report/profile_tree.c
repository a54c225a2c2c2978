/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_tree.c - a profile's stacks as a tree, its largest nodes in order. See profile_tree.h. */
#include <stdlib.h>
#include <string.h>

#include "profile_tree.h"
#include "shared/report/sums.h"

/* --- the tree of all stacks ----------------------------------------------- */

/* The node of a frame below a node. */
static uint32_t child(struct mw_tree *t, uint32_t parent, uint32_t frame)
{
	const uint32_t key[] = { parent, frame };
	uint32_t n = mw_intern(&t->keys, key, sizeof(key));

	t->failed |= t->keys.failed;
	if (n != MW_TREE_NONE && (size_t)n + 1 >= t->cap) {
		size_t cap = t->cap * 2;
		struct mw_tree_node *nodes = realloc(t->nodes, cap * sizeof(*nodes));

		if (!nodes) {
			t->failed = true;
			return 0;
		}
		memset(nodes + t->cap, 0, (cap - t->cap) * sizeof(*nodes));
		t->nodes = nodes;
		t->cap = cap;
	}
	return t->failed ? 0 : n + 1;
}

static struct mw_tree_node stack_figures(const struct mw_profile *p, const struct mw_profile_stack *s,
					 const struct mw_profile_view *view)
{
	enum mw_profile_by by = view->by == MW_VIEW_TOTAL   ? MW_BY_TOTAL :
				view->by == MW_VIEW_OBJECTS ? MW_BY_OBJECTS :
							      MW_BY_LIVE;
	int64_t value = view->by == MW_VIEW_GROWTH ? s->growth : mw_i64_of(s->bytes[by]);
	/* unsigned, since -INT64_MIN would overflow */
	uint64_t width = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	return (struct mw_tree_node){
		value, width, view->by == MW_VIEW_GROWTH && p->ranged ? s->born_samples : s->samples[by]
	};
}

static void add_figures(struct mw_tree_node *to, const struct mw_tree_node *n)
{
	to->value = mw_sum_i64(to->value, n->value);
	to->width = mw_sum_u64(to->width, n->width);
	to->samples = mw_sum_u64(to->samples, n->samples);
}

static void add_stack_to_tree(struct mw_tree *t, const struct mw_profile *p,
			      const struct mw_profile_stack *s, const struct mw_profile_view *view)
{
	struct mw_tree_node own = stack_figures(p, s, view);
	uint32_t at = 0;

	if (!own.width)
		return;
	for (uint32_t i = 0; i < s->depth && !t->failed; i++)
		at = child(t, at, s->frames[view->inverted ? i : s->depth - 1 - i]);
	add_figures(&t->nodes[at], &own);
}

static uint32_t parent_of(const struct mw_tree *t, uint32_t node)
{
	uint32_t key[2];
	size_t n;

	memcpy(key, mw_interned(&t->keys, node - 1, &n), sizeof(key));
	return key[0];
}

static uint32_t frame_of(const struct mw_tree *t, uint32_t node)
{
	uint32_t key[2];
	size_t n;

	memcpy(key, mw_interned(&t->keys, node - 1, &n), sizeof(key));
	return key[1];
}

/* Each node's own figures become the sums of all below it: children come before their parents. */
static void sum_up_tree(struct mw_tree *t)
{
	for (uint32_t i = mw_tree_count(t) - 1; i; i--)
		add_figures(&t->nodes[parent_of(t, i)], &t->nodes[i]);
}

static void tree_free(struct mw_tree *t)
{
	mw_intern_free(&t->keys);
	free(t->nodes);
}

/* False: no memory. */
static bool tree_make(struct mw_tree *t, const struct mw_profile *p, const struct mw_profile_view *view)
{
	*t = (struct mw_tree){ .cap = 64 };
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	if (!t->nodes)
		return false;
	for (size_t i = 0; i < p->n_stacks && !t->failed; i++)
		if (view->row == MW_ROW_ALL || view->row == p->stacks[i].row)
			add_stack_to_tree(t, p, &p->stacks[i], view);
	if (!t->failed)
		sum_up_tree(t);
	return !t->failed;
}

/* --- pruning -------------------------------------------------------------- */

/*
 * The most-th largest width, digit by digit from the top; *equal: how many nodes of just that width
 * are among the first `most`. There are more nodes than that.
 */
static uint64_t least_width(const struct mw_tree *t, size_t most, size_t *equal)
{
	uint64_t found = 0;

	for (unsigned shift = 64; shift;) {
		size_t counts[256] = { 0 };
		unsigned digit = 255;

		shift -= 8;
		for (uint32_t i = 0; i < mw_tree_count(t); i++) {
			uint64_t w = t->nodes[i].width;

			if (shift == 56 || w >> (shift + 8) == found >> (shift + 8))
				counts[w >> shift & 255]++;
		}
		for (; digit && counts[digit] < most; digit--)
			most -= counts[digit];
		found |= (uint64_t)digit << shift;
	}
	*equal = most;
	return found;
}

/*
 * The nodes with the largest widths, the first of equal ones. A child's width is at most its
 * parent's, and its number is larger: so a node that stays has a parent that stays. NULL: no memory.
 */
static struct mw_tree_kept *prune(const struct mw_tree *t, const struct mw_profile *p, size_t most,
				  uint32_t *n)
{
	uint32_t all = mw_tree_count(t), *number = calloc(all, sizeof(*number));
	size_t count = most && most < all ? most : most ? all : 1, equal = all;
	uint64_t least = count < all ? least_width(t, count, &equal) : 0;
	struct mw_tree_kept *kept = calloc(count, sizeof(*kept));

	*n = 0;
	for (uint32_t i = 0; number && kept && i < all; i++) {
		uint64_t w = t->nodes[i].width;

		if (w < least || (w == least && !equal))
			continue;
		equal -= w == least;
		kept[*n] = (struct mw_tree_kept){
			.number = *n, .node = i, .frame = MW_TREE_NONE, .value = t->nodes[i].value
		};
		if (i) {
			kept[*n].parent = number[parent_of(t, i)];
			kept[*n].frame = frame_of(t, i);
			kept[*n].f = &p->frames[kept[*n].frame];
		}
		number[i] = (*n)++;
	}
	if (!number) {
		free(kept);
		kept = NULL;
	}
	free(number);
	return kept;
}

/* --- order ---------------------------------------------------------------- */

/* Children of one parent are neighbours, in their order. */
static int kept_cmp(const void *a, const void *b)
{
	const struct mw_tree_kept *x = a, *y = b;
	int c;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	c = strcmp(x->f->name, y->f->name);
	c = c ? c : strcmp(x->f->file, y->f->file);
	c = c ? c : (x->f->line > y->f->line) - (x->f->line < y->f->line);
	return c ? c : (x->frame > y->frame) - (x->frame < y->frame);
}

/* Where a node's children are among the sorted; by the node's number. */
struct children {
	uint32_t first, n;
};

/*
 * steps[n] become the sorted nodes in preorder. Their end serves as the stack of nodes to come: each
 * node is at one of the two places at a time, or at none.
 */
static void preorder(struct mw_tree_step *steps, const struct children *children,
		     const struct mw_tree_kept *kept, uint32_t n)
{
	struct mw_tree_step *next = steps + n;

	*--next = (struct mw_tree_step){ 0, 0 };
	for (uint32_t done = 0; done < n; done++) {
		const struct mw_tree_step step = *next++;
		const struct children *c = &children[kept[step.at].number];

		steps[done] = step;
		for (uint32_t i = c->n; i-- > 0;)
			*--next = (struct mw_tree_step){ c->first + i, step.depth + 1 };
	}
}

/* Sorts the nodes; the steps through them, malloc'ed. NULL: no memory. */
static struct mw_tree_step *walk_nodes(struct mw_tree_kept *kept, uint32_t n)
{
	struct children *children = calloc(n, sizeof(*children));
	struct mw_tree_step *steps = calloc(n, sizeof(*steps));

	if (children && steps) {
		qsort(kept + 1, n - 1, sizeof(*kept), kept_cmp);
		for (uint32_t i = 1; i < n; i++) {
			struct children *c = &children[kept[i].parent];

			if (!c->n++)
				c->first = i;
		}
		preorder(steps, children, kept, n);
	} else {
		free(steps);
		steps = NULL;
	}
	free(children);
	return steps;
}

/* --- all of it ------------------------------------------------------------ */

void mw_tree_plan_make(struct mw_tree_plan *l, const struct mw_profile *p,
		       const struct mw_profile_view *view)
{
	l->kept = NULL;
	l->steps = NULL;
	l->n = 0;
	if (tree_make(&l->tree, p, view))
		l->kept = prune(&l->tree, p, view->most, &l->n);
	if (l->kept)
		l->steps = walk_nodes(l->kept, l->n);
}

void mw_tree_plan_free(struct mw_tree_plan *l)
{
	free(l->steps);
	free(l->kept);
	tree_free(&l->tree);
}

bool mw_profile_tree_each(const struct mw_profile *p, const struct mw_profile_view *view,
			  void (*see)(void *ctx, const struct mw_profile_node *), void *ctx)
{
	struct mw_tree_plan l;
	bool made;

	mw_tree_plan_make(&l, p, view);
	made = l.steps;
	for (uint32_t i = 0; made && i < l.n; i++) {
		const struct mw_tree_kept *k = &l.kept[l.steps[i].at];
		const struct mw_tree_node *node = &l.tree.nodes[k->node];

		see(ctx, &(struct mw_profile_node){ k->f, l.steps[i].depth, node->value, node->samples });
	}
	mw_tree_plan_free(&l);
	return made;
}
