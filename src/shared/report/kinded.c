/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "kinded.h"
#include "sums.h"

__extension__ typedef unsigned __int128 u128;

static const char no_stack[] = MW_NO_STACK;

const char *mw_kinded_text(const struct mw_kinded *k, uint32_t kind)
{
	size_t n;

	if (kind == MW_OF_NO_STACK)
		return no_stack;
	return mw_interned(&k->clues.texts, kind, &n);
}

/* --- parts -------------------------------------------------------------------- */

static void part_add(struct mw_kind_part *to, const struct mw_kind_part *p)
{
	for (int by = 0; by < MW_BY_N; by++) {
		to->bytes[by] = mw_sum_u64(to->bytes[by], p->bytes[by]);
		to->blocks[by] = mw_sum_u64(to->blocks[by], p->blocks[by]);
		to->samples[by] += p->samples[by];
	}
	to->growth = mw_sum_i64(to->growth, p->growth);
}

/* A stack of a location whose stacks aren't known: one frame, which is the location itself. */
static bool is_bare(const struct mw_profile_stack *s, size_t known)
{
	return s->depth == 1 && s->frames[0] >= known;
}

static uint32_t kind_of_stack(struct mw_kinded *k, const struct mw_profile *p,
			      const struct mw_profile_stack *s, size_t known)
{
	const struct mw_row *r = &k->snapshot->rows[s->row];

	if (!is_bare(s, known))
		return mw_kind_of(&k->clues, p->frames, s->frames, s->depth);
	if (r->kind == MW_KIND_NATIVE && r->file_len && r->file_len <= r->location_len)
		return mw_kind_of_file(&k->clues, r->location, r->file_len);
	return MW_OF_NO_STACK;
}

static void take_amounts(struct mw_kind_part *to, const struct mw_profile_stack *s, int by)
{
	to->bytes[by] = s->bytes[by];
	to->blocks[by] = s->blocks[by];
	to->samples[by] = s->samples[by];
}

/* Adds to the parts of its row, which are the last ones. */
static void add_row_part(struct mw_kinded *k, const struct mw_kind_part *one)
{
	size_t at = k->n;

	while (at && k->parts[at - 1].row == one->row && k->parts[at - 1].kind != one->kind)
		at--;
	if (at && k->parts[at - 1].row == one->row)
		part_add(&k->parts[at - 1], one);
	else
		k->parts[k->n++] = *one;
}

/* A row's objects are of no kind of malloc's: all of them are in one part. UINT32_MAX as the kind: no memory. */
static bool add_stack_parts(struct mw_kinded *k, const struct mw_profile_stack *s, uint32_t kind)
{
	struct mw_kind_part blocks = { .row = s->row, .kind = kind, .growth = s->growth };
	struct mw_kind_part objects = { .row = s->row, .kind = MW_OF_NO_STACK };

	if (kind == UINT32_MAX)
		return false;
	take_amounts(&blocks, s, MW_BY_LIVE);
	take_amounts(&blocks, s, MW_BY_TOTAL);
	take_amounts(&objects, s, MW_BY_OBJECTS);
	if (objects.blocks[MW_BY_OBJECTS])
		add_row_part(k, &objects);
	if (!objects.blocks[MW_BY_OBJECTS] || blocks.samples[MW_BY_LIVE] || blocks.samples[MW_BY_TOTAL] ||
	    blocks.bytes[MW_BY_LIVE] || blocks.bytes[MW_BY_TOTAL] || blocks.growth)
		add_row_part(k, &blocks);
	return true;
}

static bool make_parts(struct mw_kinded *k, const struct mw_profile *p, size_t known)
{
	bool ok = true;

	k->parts = calloc(p->n_stacks * 2 + 1, sizeof(*k->parts));
	k->first = calloc(k->snapshot->n + 1, sizeof(*k->first));
	if (!k->parts || !k->first)
		return false;
	for (size_t i = 0; ok && i < p->n_stacks; i++) /* by row */
		ok = add_stack_parts(k, &p->stacks[i], kind_of_stack(k, p, &p->stacks[i], known));
	for (size_t i = 0, r = 0; r <= k->snapshot->n; r++) {
		while (i < k->n && k->parts[i].row < r)
			i++;
		k->first[r] = i;
	}
	return ok;
}

/* --- sums --------------------------------------------------------------------- */

void mw_kinded_add(struct mw_kinded *k, const struct mw_row *r)
{
	size_t from, end, row;

	if (!k->sums)
		return;
	if (k->split && r >= k->split && r < k->split + k->n) {
		from = (size_t)(r - k->split);
		end = from + 1;
	} else {
		row = (size_t)(r - k->snapshot->rows);
		from = k->first[row];
		end = k->first[row + 1];
	}
	for (size_t i = from; i < end; i++)
		part_add(&k->sums[k->parts[i].kind], &k->parts[i]);
}

/* Of all, in thousandths. */
static uint32_t thousandths_of(uint64_t part, uint64_t all)
{
	return all ? (uint32_t)(((u128)part * 1000 + all / 2) / all) : 0;
}

/* Sets a row's kind to the largest of these parts; of live bytes, if there are any. */
static void choose_top_kind(const struct mw_kinded *k, const struct mw_kind_part *p, size_t n,
			    struct mw_row *r)
{
	uint64_t all[MW_BY_N] = { 0 }, samples[MW_BY_N] = { 0 }, top = 0;
	int by;

	r->top_kind = no_stack;
	r->top_share = 0;
	for (size_t i = 0; i < n; i++)
		for (by = 0; by < MW_BY_N; by++) {
			all[by] = mw_sum_u64(all[by], p[i].bytes[by]);
			samples[by] = mw_sum_u64(samples[by], p[i].samples[by]);
		}
	by = all[MW_BY_LIVE] ? MW_BY_LIVE : MW_BY_TOTAL;
	for (size_t i = 0; i < n; i++) {
		if (p[i].kind == MW_OF_NO_STACK || p[i].bytes[by] <= top)
			continue;
		top = p[i].bytes[by];
		r->top_kind = mw_kinded_text(k, p[i].kind);
		r->top_share = thousandths_of(top, all[by]);
	}
	r->kind_samples = samples[by] < UINT32_MAX ? (uint32_t)samples[by] : UINT32_MAX;
}

void mw_kinded_end(struct mw_kinded *k, struct mw_row *sum)
{
	size_t n = k->sums ? k->clues.texts.n : 0;

	choose_top_kind(k, k->sums, n, sum);
	for (uint32_t i = 0; i < n; i++)
		k->sums[i] = (struct mw_kind_part){ .kind = i };
}

/* --- splitting ---------------------------------------------------------------- */

/* The part of `all` up to `done` of `whole`: the differences of these parts add up to `all`. */
static uint64_t up_to(uint64_t all, uint64_t done, uint64_t whole)
{
	return done >= whole ? all : (uint64_t)((u128)all * done / whole);
}

struct splitting {
	uint64_t done, whole; /* allocations; if there are none, live blocks */
	enum mw_profile_by by;
};

static void split_row(struct mw_row *to, const struct mw_row *r, const struct mw_kind_part *p,
		      struct splitting *s)
{
	uint64_t from = s->done, end = mw_sum_u64(from, p->blocks[s->by]);

	*to = *r;
	to->total = p->bytes[MW_BY_TOTAL];
	to->allocations = p->blocks[MW_BY_TOTAL];
	to->live_bytes = p->bytes[MW_BY_LIVE];
	to->live = p->blocks[MW_BY_LIVE];
	to->growth = p->growth;
	to->objects = p->blocks[MW_BY_OBJECTS];
	to->object_bytes = p->bytes[MW_BY_OBJECTS];
	to->object_samples = p->samples[MW_BY_OBJECTS];
	to->object_variance =
		to->objects ? r->object_variance : 0; /* all of a row's objects are in one part */
	to->frees = up_to(r->frees, end, s->whole) - up_to(r->frees, from, s->whole);
	to->freed = up_to(r->freed, end, s->whole) - up_to(r->freed, from, s->whole);
	to->life_sum = up_to(r->life_sum, end, s->whole) - up_to(r->life_sum, from, s->whole);
	s->done = end;
}

struct mw_row *mw_kinded_split(struct mw_kinded *k, size_t *n)
{
	struct mw_row *rows = calloc(k->n + 1, sizeof(*rows));

	*n = 0;
	for (size_t row = 0; rows && row < k->snapshot->n; row++) {
		const struct mw_row *r = &k->snapshot->rows[row];
		struct splitting s = { .by = r->allocations ? MW_BY_TOTAL : MW_BY_LIVE };

		s.whole = r->allocations ? r->allocations : r->live;
		for (size_t i = k->first[row]; i < k->first[row + 1]; i++) {
			split_row(&rows[*n], r, &k->parts[i], &s);
			choose_top_kind(k, &k->parts[i], 1, &rows[(*n)++]);
		}
	}
	k->split = rows;
	return rows;
}

/* --- all of it ---------------------------------------------------------------- */

bool mw_kinded_make(struct mw_kinded *k, struct mw_snapshot *snapshot, const struct mw_stacks *stacks)
{
	struct mw_profile p = { .snapshot = snapshot };
	struct mw_row none = { 0 };
	bool ok;

	*k = (struct mw_kinded){ .snapshot = snapshot };
	ok = stacks && mw_profile_fill(&p, stacks, false) && mw_clues_make(&k->clues, p.n_frames) &&
	     make_parts(k, &p, stacks->n_frames) && (k->sums = calloc(k->clues.texts.n, sizeof(*k->sums)));
	p.snapshot = NULL; /* the caller's */
	mw_profile_free(&p, NULL);
	if (!ok)
		mw_kinded_free(k);
	else
		mw_kinded_end(k, &none);
	snapshot->kinds = true;
	for (size_t i = 0; i < snapshot->n; i++)
		choose_top_kind(k, ok ? k->parts + k->first[i] : NULL,
				ok ? k->first[i + 1] - k->first[i] : 0, &snapshot->rows[i]);
	return ok;
}

void mw_kinded_free(struct mw_kinded *k)
{
	/* a sum of processes may be asked for its rows again */
	for (size_t i = 0; k->snapshot && i < k->snapshot->n; i++)
		k->snapshot->rows[i].top_kind = NULL;
	if (k->snapshot)
		k->snapshot->kinds = false;
	mw_clues_free(&k->clues);
	free(k->parts);
	free(k->first);
	free(k->sums);
	*k = (struct mw_kinded){ 0 };
}
