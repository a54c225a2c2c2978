/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tree.c - a profile as the tree that the page's flame graph draws.
 *
 * Members of a JSON object, which the page begins with start, now and unix:
 *
 *   "by":"live"|"total"|"growth","inverted":false,"location":null|"PATH:LINE",
 *   "total":N,"samples":S,"rate":R,"pruned":P,
 *   "names":[..],"files":[..],"groups":[..],
 *   "frames":[[name,file,line,group,kind],..]
 *       numbers in the lists before; file -1: not known; line 0: not known; kind as enum mw_kind
 *   "frame":[..],"depth":[..],"value":[..],"samples_of":[..],"width":[..]
 *       one entry for each node, in preorder; node 0 is the root, with frame -1 and depth 0
 *
 * value: bytes, below 0 where something shrank. A node's own bytes are its value less its
 * children's. width is there with by=growth only: the sum of the absolute values of the stacks
 * below. Children come by value, the largest first, then by name.
 *
 * The tree is made of numbers: a node is the pair of its parent and its frame. A parent is made
 * before its children, so its number is smaller. Nothing calls itself, however deep a stack is.
 */
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "profile.h"
#include "sums.h"

#define NONE UINT32_MAX

struct node {
	int64_t value;
	uint64_t width, samples;
};

struct tree {
	struct mw_intern keys; /* parent and frame, two uint32_t; number of the node: this one + 1 */
	struct node *nodes;
	size_t cap;
	bool failed;
};

/* A node that stays. */
struct kept {
	uint32_t number, parent; /* among those that stay, as they were made */
	uint32_t node, frame;
	int64_t value;
	const struct mw_profile_frame *f;
};

/* The frames of the nodes that stay, by their numbers in the JSON, and their texts. */
struct texts {
	struct mw_intern names, files, groups, frames;
	struct mw_buf list; /* frames as JSON */
	struct mw_buf group;
};

/* --- the tree of all stacks ----------------------------------------------- */

static uint32_t node_count(const struct tree *t)
{
	return t->keys.n + 1;
}

/* The node of a frame below a node. */
static uint32_t child(struct tree *t, uint32_t parent, uint32_t frame)
{
	const uint32_t key[] = { parent, frame };
	uint32_t n = mw_intern(&t->keys, key, sizeof(key));

	t->failed |= t->keys.failed;
	if (n != NONE && (size_t)n + 1 >= t->cap) {
		size_t cap = t->cap * 2;
		struct node *nodes = realloc(t->nodes, cap * sizeof(*nodes));

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

static struct node figures(const struct mw_profile_stack *s, const struct mw_profile_view *view)
{
	enum mw_profile_by by = view->by == MW_VIEW_TOTAL ? MW_BY_TOTAL : MW_BY_LIVE;
	int64_t value = view->by == MW_VIEW_GROWTH ? s->growth : mw_i64_of(s->bytes[by]);
	/* unsigned, since -INT64_MIN would overflow */
	uint64_t width = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	return (struct node){ value, width, s->samples[by] };
}

static void add(struct node *to, const struct node *n)
{
	to->value = mw_sum_i64(to->value, n->value);
	to->width = mw_sum_u64(to->width, n->width);
	to->samples = mw_sum_u64(to->samples, n->samples);
}

static void add_stack(struct tree *t, const struct mw_profile_stack *s, const struct mw_profile_view *view)
{
	struct node own = figures(s, view);
	uint32_t at = 0;

	if (!own.width)
		return;
	for (uint32_t i = 0; i < s->depth && !t->failed; i++)
		at = child(t, at, s->frames[view->inverted ? i : s->depth - 1 - i]);
	add(&t->nodes[at], &own);
}

static uint32_t parent_of(const struct tree *t, uint32_t node)
{
	uint32_t key[2];
	size_t n;

	memcpy(key, mw_interned(&t->keys, node - 1, &n), sizeof(key));
	return key[0];
}

static uint32_t frame_of(const struct tree *t, uint32_t node)
{
	uint32_t key[2];
	size_t n;

	memcpy(key, mw_interned(&t->keys, node - 1, &n), sizeof(key));
	return key[1];
}

/* Each node's own figures become the sums of all below it: children come before their parents. */
static void sum_up(struct tree *t)
{
	for (uint32_t i = node_count(t) - 1; i; i--)
		add(&t->nodes[parent_of(t, i)], &t->nodes[i]);
}

static void tree_free(struct tree *t)
{
	mw_intern_free(&t->keys);
	free(t->nodes);
}

/* False: no memory. */
static bool tree_make(struct tree *t, const struct mw_profile *p, const struct mw_profile_view *view)
{
	*t = (struct tree){ .cap = 64 };
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	if (!t->nodes)
		return false;
	for (size_t i = 0; i < p->n_stacks && !t->failed; i++)
		if (view->row == MW_ROW_ALL || view->row == p->stacks[i].row)
			add_stack(t, &p->stacks[i], view);
	if (!t->failed)
		sum_up(t);
	return !t->failed;
}

/* --- pruning -------------------------------------------------------------- */

/*
 * The most-th largest width, digit by digit from the top; *equal: how many nodes of just that width
 * are among the first `most`. There are more nodes than that.
 */
static uint64_t least_width(const struct tree *t, size_t most, size_t *equal)
{
	uint64_t found = 0;

	for (unsigned shift = 64; shift;) {
		size_t counts[256] = { 0 };
		unsigned digit = 255;

		shift -= 8;
		for (uint32_t i = 0; i < node_count(t); i++) {
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
static struct kept *prune(const struct tree *t, const struct mw_profile *p, size_t most, uint32_t *n)
{
	uint32_t all = node_count(t), *number = calloc(all, sizeof(*number));
	size_t count = most && most < all ? most : most ? all : 1, equal = all;
	uint64_t least = count < all ? least_width(t, count, &equal) : 0;
	struct kept *kept = calloc(count, sizeof(*kept));

	*n = 0;
	for (uint32_t i = 0; number && kept && i < all; i++) {
		uint64_t w = t->nodes[i].width;

		if (w < least || (w == least && !equal))
			continue;
		equal -= w == least;
		kept[*n] =
			(struct kept){ .number = *n, .node = i, .frame = NONE, .value = t->nodes[i].value };
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
	const struct kept *x = a, *y = b;
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

struct step {
	uint32_t at, depth; /* at: among the sorted */
};

/*
 * steps[n] become the sorted nodes in preorder. Their end serves as the stack of nodes to come: each
 * node is at one of the two places at a time, or at none.
 */
static void preorder(struct step *steps, const struct children *children, const struct kept *kept,
		     uint32_t n)
{
	struct step *next = steps + n;

	*--next = (struct step){ 0, 0 };
	for (uint32_t done = 0; done < n; done++) {
		const struct step step = *next++;
		const struct children *c = &children[kept[step.at].number];

		steps[done] = step;
		for (uint32_t i = c->n; i-- > 0;)
			*--next = (struct step){ c->first + i, step.depth + 1 };
	}
}

/* Sorts the nodes; the steps through them, malloc'ed. NULL: no memory. */
static struct step *walk(struct kept *kept, uint32_t n)
{
	struct children *children = calloc(n, sizeof(*children));
	struct step *steps = calloc(n, sizeof(*steps));

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

/* --- frames --------------------------------------------------------------- */

/* Gems and folders as the table groups its rows. */
static uint32_t group(struct texts *t, const struct mw_profile_frame *f)
{
	const char *text = f->kind == MW_KIND_SPECIAL ? f->name : f->file;
	uint32_t n = (uint32_t)strlen(text);
	const struct mw_row row = { .location = text, .location_len = n, .file_len = n, .kind = f->kind };

	if (!n)
		return mw_intern_str(&t->groups, "(file not known)");
	t->group.n = 0;
	mw_group_name(&t->group, &row, MW_GROUP_GEM);
	return mw_intern(&t->groups, t->group.p, t->group.n);
}

static void add_number(struct mw_buf *b, uint64_t n, const char *behind)
{
	mw_buf_u64(b, n);
	mw_buf_str(b, behind);
}

static void add_frame(struct texts *t, const struct kept *k)
{
	const struct mw_profile_frame *f = k->f;
	const uint32_t known = t->frames.n;

	mw_intern(&t->frames, &k->frame, sizeof(k->frame));
	if (t->frames.n == known)
		return;
	mw_buf_str(&t->list, known ? ",[" : "[");
	add_number(&t->list, mw_intern_str(&t->names, f->name), ",");
	if (*f->file)
		add_number(&t->list, mw_intern_str(&t->files, f->file), ",");
	else
		mw_buf_str(&t->list, "-1,");
	add_number(&t->list, f->line, ",");
	add_number(&t->list, group(t, f), ",");
	add_number(&t->list, (uint64_t)f->kind, "]");
}

static bool texts_failed(const struct texts *t)
{
	return t->names.failed || t->files.failed || t->groups.failed || t->frames.failed ||
	       t->list.failed || t->group.failed;
}

static void texts_free(struct texts *t)
{
	mw_intern_free(&t->names);
	mw_intern_free(&t->files);
	mw_intern_free(&t->groups);
	mw_intern_free(&t->frames);
	mw_buf_free(&t->list);
	mw_buf_free(&t->group);
}

/* --- JSON ----------------------------------------------------------------- */

static void strings(struct mw_buf *b, const char *before, const struct mw_intern *texts)
{
	mw_buf_str(b, before);
	for (uint32_t i = 0; i < texts->n; i++) {
		size_t n;
		const char *s = mw_interned(texts, i, &n);

		mw_buf_str(b, i ? "," : "");
		mw_buf_json(b, s, n);
	}
	mw_buf_str(b, "],");
}

static void head(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_view *view,
		 const struct node *root, uint32_t pruned)
{
	static const char *const by[] = { "live", "total", "growth" };

	mw_buf_fmt(b, "\"by\":\"%s\",\"inverted\":%s,\"location\":", by[view->by],
		   view->inverted ? "true" : "false");
	if (view->row < p->snapshot->n)
		mw_buf_json(b, p->snapshot->rows[view->row].location,
			    p->snapshot->rows[view->row].location_len);
	else
		mw_buf_str(b, "null");
	mw_buf_str(b, ",\"total\":");
	mw_buf_i64(b, root->value);
	mw_buf_str(b, ",\"samples\":");
	mw_buf_u64(b, root->samples);
	mw_buf_str(b, ",\"rate\":");
	mw_buf_u64(b, p->rate);
	mw_buf_str(b, ",\"pruned\":");
	mw_buf_u64(b, pruned);
}

/* What is listed of each node. */
enum part { FRAME, DEPTH, VALUE, SAMPLES, WIDTH };

static void entry(struct mw_buf *b, enum part part, const struct step *s, const struct kept *k,
		  const struct node *node, struct texts *t)
{
	switch (part) {
	case FRAME:
		if (k->frame == NONE)
			mw_buf_str(b, "-1");
		else
			mw_buf_u64(b, mw_intern(&t->frames, &k->frame, sizeof(k->frame)));
		break;
	case DEPTH:
		mw_buf_u64(b, s->depth);
		break;
	case VALUE:
		mw_buf_i64(b, node->value);
		break;
	case SAMPLES:
		mw_buf_u64(b, node->samples);
		break;
	case WIDTH:
		mw_buf_u64(b, node->width);
		break;
	}
}

/* All nodes that stay, kept[n], with the texts of their frames. */
static void nodes(struct mw_buf *b, const struct tree *tree, const struct kept *kept,
		  const struct step *steps, uint32_t n, bool widths)
{
	static const char *const names[] = { "frame", "depth", "value", "samples_of", "width" };
	struct texts t = { 0 };

	for (uint32_t i = 1; i < n; i++)
		add_frame(&t, &kept[steps[i].at]);
	strings(b, ",\n\"names\":[", &t.names);
	strings(b, "\n\"files\":[", &t.files);
	strings(b, "\n\"groups\":[", &t.groups);
	mw_buf_str(b, "\n\"frames\":[");
	mw_buf_add(b, t.list.p, t.list.n);
	for (enum part part = FRAME; part <= (widths ? WIDTH : SAMPLES); part++) {
		mw_buf_fmt(b, "],\n\"%s\":[", names[part]);
		for (uint32_t i = 0; i < n; i++) {
			const struct kept *k = &kept[steps[i].at];

			mw_buf_str(b, i ? "," : "");
			entry(b, part, &steps[i], k, &tree->nodes[k->node], &t);
		}
	}
	mw_buf_str(b, "]");
	b->failed |= texts_failed(&t);
	texts_free(&t);
}

/* The nodes that stay, in preorder. */
struct plan {
	struct tree tree;
	struct kept *kept;
	struct step *steps; /* NULL: no memory */
	uint32_t n;
};

static void plan_make(struct plan *l, const struct mw_profile *p, const struct mw_profile_view *view)
{
	l->kept = NULL;
	l->steps = NULL;
	l->n = 0;
	if (tree_make(&l->tree, p, view))
		l->kept = prune(&l->tree, p, view->most, &l->n);
	if (l->kept)
		l->steps = walk(l->kept, l->n);
}

static void plan_free(struct plan *l)
{
	free(l->steps);
	free(l->kept);
	tree_free(&l->tree);
}

void mw_profile_tree(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_view *view)
{
	struct plan l;

	plan_make(&l, p, view);
	if (l.steps) {
		head(b, p, view, &l.tree.nodes[0], node_count(&l.tree) - l.n);
		nodes(b, &l.tree, l.kept, l.steps, l.n, view->by == MW_VIEW_GROWTH);
	}
	b->failed |= !l.steps;
	plan_free(&l);
}

bool mw_profile_tree_each(const struct mw_profile *p, const struct mw_profile_view *view,
			  void (*see)(void *ctx, const struct mw_profile_node *), void *ctx)
{
	struct plan l;
	bool made;

	plan_make(&l, p, view);
	made = l.steps;
	for (uint32_t i = 0; made && i < l.n; i++) {
		const struct kept *k = &l.kept[l.steps[i].at];
		const struct node *node = &l.tree.nodes[k->node];

		see(ctx, &(struct mw_profile_node){ k->f, l.steps[i].depth, node->value, node->samples });
	}
	plan_free(&l);
	return made;
}
