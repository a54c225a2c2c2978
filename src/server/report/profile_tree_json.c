/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tree_json.c - a profile as the tree that the page's flame graph draws.
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
 */
#include <string.h>

#include "profile_tree.h"

/* The frames of the nodes that stay, by their numbers in the JSON, and their texts. */
struct texts {
	struct mw_intern names, files, groups, frames;
	struct mw_buf list; /* frames as JSON */
	struct mw_buf group;
};

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

static void add_frame(struct texts *t, const struct mw_tree_kept *k)
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
		 const struct mw_tree_node *root, uint32_t pruned)
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

static void entry(struct mw_buf *b, enum part part, const struct mw_tree_step *s,
		  const struct mw_tree_kept *k, const struct mw_tree_node *node, struct texts *t)
{
	switch (part) {
	case FRAME:
		if (k->frame == MW_TREE_NONE)
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
static void nodes(struct mw_buf *b, const struct mw_tree *tree, const struct mw_tree_kept *kept,
		  const struct mw_tree_step *steps, uint32_t n, bool widths)
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
			const struct mw_tree_kept *k = &kept[steps[i].at];

			mw_buf_str(b, i ? "," : "");
			entry(b, part, &steps[i], k, &tree->nodes[k->node], &t);
		}
	}
	mw_buf_str(b, "]");
	b->failed |= texts_failed(&t);
	texts_free(&t);
}

void mw_profile_tree(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_view *view)
{
	struct mw_tree_plan l;

	mw_tree_plan_make(&l, p, view);
	if (l.steps) {
		head(b, p, view, &l.tree.nodes[0], mw_tree_count(&l.tree) - l.n);
		nodes(b, &l.tree, l.kept, l.steps, l.n, view->by == MW_VIEW_GROWTH);
	}
	b->failed |= !l.steps;
	mw_tree_plan_free(&l);
}
