/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "label_rows.h"

#include <stdlib.h>
#include <string.h>

#include "sums.h"

static const char *text_of(const struct mw_profile *p, const struct mw_profile_stack *s)
{
	return s->label ? p->frames[s->label].name : MW_NO_LABEL;
}

static void add_stack_to_row(struct mw_row *r, const struct mw_profile_stack *s)
{
	r->total = mw_sum_u64(r->total, s->bytes[MW_BY_TOTAL]);
	r->allocations = mw_sum_u64(r->allocations, s->blocks[MW_BY_TOTAL]);
	r->live_bytes = mw_sum_u64(r->live_bytes, s->bytes[MW_BY_LIVE]);
	r->live = mw_sum_u64(r->live, s->blocks[MW_BY_LIVE]);
	r->growth = mw_sum_i64(r->growth, s->growth);
	r->object_bytes = mw_sum_u64(r->object_bytes, s->bytes[MW_BY_OBJECTS]);
	r->objects = mw_sum_u64(r->objects, s->blocks[MW_BY_OBJECTS]);
	if (__builtin_add_overflow(r->kind_samples, s->samples[MW_BY_TOTAL], &r->kind_samples))
		r->kind_samples = UINT32_MAX;
}

/* id: the label's frame; 0: none */
static int most_first(const void *a, const void *b)
{
	const struct mw_row *x = a, *y = b;

	if (!x->id != !y->id)
		return x->id ? -1 : 1;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->location, y->location);
}

struct mw_row *mw_labels_make(const struct mw_profile *p, size_t *n)
{
	struct mw_row *rows = calloc(p->n_stacks + 1, sizeof(*rows));
	uint32_t *of = calloc(p->n_frames + 1, sizeof(*of)); /* a label's row, plus 1 */

	*n = 0;
	for (size_t i = 0; rows && of && i < p->n_stacks; i++) {
		const struct mw_profile_stack *s = &p->stacks[i];
		const char *text = text_of(p, s);

		if (!of[s->label]) {
			rows[*n] = (struct mw_row){ .location = text,
						    .location_len = (uint32_t)strlen(text),
						    .id = s->label,
						    .kind = MW_KIND_SPECIAL };
			of[s->label] = (uint32_t)++*n;
		}
		add_stack_to_row(&rows[of[s->label] - 1], s);
	}
	if (!of) {
		free(rows);
		rows = NULL;
	}
	free(of);
	if (rows)
		qsort(rows, *n, sizeof(*rows), most_first);
	return rows;
}

bool mw_profile_only_label(struct mw_profile *p, const char *label)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_stacks; i++)
		if (strcmp(text_of(p, &p->stacks[i]), label) == 0)
			p->stacks[n++] = p->stacks[i];
	p->n_stacks = n;
	mw_profile_sum_samples(p);
	return n > 0;
}
