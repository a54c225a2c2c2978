/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tree_json.c - a profile as the tree that the page's flame graph draws.
 *
 * Members of a JSON object, which the page begins with start, now and unix:
 *
 *   "by":"live"|"total"|"growth"|"objects","inverted":false,"location":null|"PATH:LINE",
 *   "total":N,"samples":S,"rate":R,"pruned":P,
 *   "names":[..],"files":[..],"groups":[..],
 *   "frames":[[name,file,line,group,kind],..]
 *       numbers in the lists before; file -1: not known; line 0: not known; kind as enum mw_kind
 *   "frame":[..],"depth":[..],"value":[..],"samples_of":[..],"width":[..]
 *       one entry for each node, in preorder; node 0 is the root, with frame -1 and depth 0
 *
 * value: bytes, of objects those of their slots, below 0 where something shrank. A node's own bytes are its value less its
 * children's. width is there with by=growth only: the sum of the absolute values of the stacks
 * below. Children come by value, the largest first, then by name.
 */
#include <string.h>

#include "profile_tree.h"
#include "shared/text/json.h"

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
		return mw_intern_str(&t->groups, f->kind == MW_KIND_NATIVE && !f->address ?
							 "methods in C" :
							 "(file not known)");
	t->group.n = 0;
	mw_group_name(&t->group, &row, MW_GROUP_GEM);
	return mw_intern(&t->groups, t->group.p, t->group.n);
}

static void add_frame(struct texts *t, const struct mw_tree_kept *k)
{
	const struct mw_profile_frame *f = k->f;
	const uint32_t known = t->frames.n;

	mw_intern(&t->frames, &k->frame, sizeof(k->frame));
	if (t->frames.n == known)
		return;
	mw_json_open(&t->list, NULL, '[');
	mw_json_u64(&t->list, NULL, mw_intern_str(&t->names, f->name));
	mw_json_i64(&t->list, NULL, *f->file ? (int64_t)mw_intern_str(&t->files, f->file) : -1);
	mw_json_u64(&t->list, NULL, f->line);
	mw_json_u64(&t->list, NULL, group(t, f));
	mw_json_u64(&t->list, NULL, (uint64_t)f->kind);
	mw_buf_str(&t->list, "]");
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

static void strings(struct mw_buf *b, const char *name, const struct mw_intern *texts)
{
	mw_json_open(b, name, '[');
	for (uint32_t i = 0; i < texts->n; i++) {
		size_t n;
		const char *s = mw_interned(texts, i, &n);

		mw_json_text(b, NULL, s, n);
	}
	mw_buf_str(b, "]");
}

static void tree_head(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_view *view,
		      const struct mw_tree_node *root, uint32_t pruned)
{
	static const char *const by[] = { "live", "total", "growth", "objects" };
	const struct mw_row *row = view->row < p->snapshot->n ? &p->snapshot->rows[view->row] : NULL;

	mw_json_str(b, "by", by[view->by]);
	mw_json_bool(b, "inverted", view->inverted);
	mw_json_text(b, "location", row ? row->location : NULL, row ? row->location_len : 0);
	mw_json_i64(b, "total", root->value);
	mw_json_u64(b, "samples", root->samples);
	mw_json_u64(b, "rate", p->rate);
	mw_json_u64(b, "pruned", pruned);
}

/* The lists, each with an entry for each node. */
enum part { FRAME, DEPTH, VALUE, SAMPLES, WIDTH };

static int64_t entry(enum part part, const struct mw_tree_step *s, const struct mw_tree_kept *k,
		     const struct mw_tree_node *node, struct texts *t)
{
	switch (part) {
	case FRAME:
		return k->frame == MW_TREE_NONE ?
			       -1 :
			       (int64_t)mw_intern(&t->frames, &k->frame, sizeof(k->frame));
	case DEPTH:
		return s->depth;
	case VALUE:
		return node->value;
	default:
		return (int64_t)node->samples;
	}
}

/* All nodes that stay, kept[n], with the texts of their frames. */
static void nodes(struct mw_buf *b, const struct mw_tree *tree, const struct mw_tree_kept *kept,
		  const struct mw_tree_step *steps, uint32_t n, bool widths)
{
	static const char *const names[] = { "\nframe", "\ndepth", "\nvalue", "\nsamples_of", "\nwidth" };
	struct texts t = { 0 };

	for (uint32_t i = 1; i < n; i++)
		add_frame(&t, &kept[steps[i].at]);
	strings(b, "\nnames", &t.names);
	strings(b, "\nfiles", &t.files);
	strings(b, "\ngroups", &t.groups);
	mw_json_open(b, "\nframes", '[');
	mw_buf_add(b, t.list.p, t.list.n);
	mw_buf_str(b, "]");
	for (enum part part = FRAME; part <= (widths ? WIDTH : SAMPLES); part++) {
		mw_json_open(b, names[part], '[');
		for (uint32_t i = 0; i < n; i++) {
			const struct mw_tree_kept *k = &kept[steps[i].at];
			const struct mw_tree_node *node = &tree->nodes[k->node];

			if (part == WIDTH)
				mw_json_u64(b, NULL, node->width);
			else
				mw_json_i64(b, NULL, entry(part, &steps[i], k, node, &t));
		}
		mw_buf_str(b, "]");
	}
	b->failed |= texts_failed(&t);
	texts_free(&t);
}

void mw_profile_tree(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_view *view)
{
	struct mw_tree_plan l;

	mw_tree_plan_make(&l, p, view);
	if (l.steps) {
		tree_head(b, p, view, &l.tree.nodes[0], mw_tree_count(&l.tree) - l.n);
		nodes(b, &l.tree, l.kept, l.steps, l.n, view->by == MW_VIEW_GROWTH);
	}
	b->failed |= !l.steps;
	mw_tree_plan_free(&l);
}
