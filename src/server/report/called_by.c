/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * called_by.c - see called_by.h.
 *
 * The stacks are sorted by their frames, so those that share some are neighbours. The largest branch
 * becomes a row, and makes room for its own branches, until there are enough rows. Frames with the same
 * texts are one: a line of Ruby has a frame for each place in it that allocates or calls.
 */
#include "called_by.h"

#include <stdlib.h>
#include <string.h>

#include "shared/report/sums.h"
#include "shared/text/json.h"

/* A stack from the location's own frame outwards. */
struct chain {
	const uint32_t *frames;
	uint32_t n; /* 0: no caller is known */
	const struct mw_profile_frame *texts; /* of all frames of the profile */
	const struct mw_profile_stack *stack;
};

/* The chains from `first` on, before `end`, share their frames before `to`. */
struct branch {
	size_t first, end;
	uint32_t from, to; /* the frames that are its own */
	uint32_t depth;
	size_t below; /* the number of the row that it is below; NONE */
	uint64_t weight;
	bool shown;
};
#define NONE SIZE_MAX

struct choice {
	struct chain *chains;
	size_t n;
	struct branch *branches;
	size_t branches_n, cap;
	size_t numbers[MW_CALLED_BY_MOST]; /* of the rows, as they were chosen */
	bool failed;
};

/* --- chains --------------------------------------------------------------- */

static bool is_own(const struct mw_row *r, const struct mw_profile_frame *f)
{
	return f->kind == MW_KIND_RUBY && f->line == r->at && strlen(f->file) == r->file_len &&
	       !memcmp(f->file, r->location, r->file_len);
}

/* The location stands for the stack: see mw_profile_calibrate. */
static bool stands_alone(const struct mw_profile *p, const struct mw_profile_stack *s)
{
	const struct mw_profile_frame *f = &p->frames[s->frames[0]];

	if (s->depth > 1)
		return false;
	return f->kind != MW_KIND_RUBY || !strncmp(f->name, f->file, strlen(f->file));
}

/* Inside a line of Ruby are the native functions that it called; they are no callers. */
static struct chain chain_of(const struct mw_profile *p, const struct mw_profile_stack *s)
{
	const struct mw_row *r = &p->snapshot->rows[s->row];
	uint32_t own = 0;

	if (stands_alone(p, s))
		return (struct chain){ .stack = s };
	if (r->kind == MW_KIND_RUBY)
		while (own < s->depth && !is_own(r, &p->frames[s->frames[own]]))
			own++;
	if (own == s->depth)
		own = 0;
	return (struct chain){ s->frames + own, s->depth - own, p->frames, s };
}

/* Frame i of each: 0 if a row says the same of both. */
static int frame_cmp(const struct chain *x, const struct chain *y, uint32_t i)
{
	const struct mw_profile_frame *f = &x->texts[x->frames[i]], *g = &y->texts[y->frames[i]];
	int d;

	if (f == g)
		return 0;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	d = strcmp(f->name, g->name);
	return d ? d : strcmp(f->file, g->file);
}

/* A chain comes before those that go on where it ends. */
static int chain_cmp(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;

	for (uint32_t i = 0; i < x->n && i < y->n; i++) {
		int d = frame_cmp(x, y, i);

		if (d)
			return d;
	}
	return (x->n > y->n) - (x->n < y->n);
}

/* --- branches ------------------------------------------------------------- */

static uint64_t weigh(const struct choice *k, size_t first, size_t end, enum mw_profile_by by)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++)
		sum = mw_sum_u64(sum, k->chains[i].stack->bytes[by]);
	return sum;
}

static void add_branch(struct choice *k, struct branch b, enum mw_profile_by by)
{
	const struct chain *first = &k->chains[b.first], *last = &k->chains[b.end - 1];

	if (k->branches_n == k->cap) {
		size_t cap = k->cap * 2 + 16;
		struct branch *more = realloc(k->branches, cap * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		k->branches = more;
		k->cap = cap;
	}
	b.weight = weigh(k, b.first, b.end, by);
	/* they are sorted: what the first and the last one share, all share */
	while (b.to < first->n && !frame_cmp(first, last, b.to))
		b.to++;
	k->branches[k->branches_n++] = b;
}

/* Adds the callers of what these chains share. */
static void branch_off(struct choice *k, struct branch of, size_t row, enum mw_profile_by by)
{
	struct branch b = { .first = of.first,
			    .from = of.to,
			    .to = of.to,
			    .below = row,
			    .depth = row == NONE ? 0 : of.depth + 1 };

	while (b.first < of.end && k->chains[b.first].n <= of.to && row != NONE)
		b.first++; /* these end here */
	for (; b.first < of.end; b.first = b.end) {
		const struct chain *c = &k->chains[b.first];

		for (b.end = b.first + 1; b.end < of.end; b.end++) {
			const struct chain *d = &k->chains[b.end];

			if (c->n == of.to ? d->n != of.to : frame_cmp(c, d, of.to))
				break;
		}
		add_branch(k, b, by);
	}
}

/* --- rows ----------------------------------------------------------------- */

static struct branch *largest(struct choice *k)
{
	struct branch *best = NULL;

	for (size_t i = 0; i < k->branches_n; i++) {
		struct branch *b = &k->branches[i];

		if (!b->shown && b->weight && (!best || b->weight > best->weight))
			best = b;
	}
	return best;
}

/* Behind the rows below the same row: those were larger. */
static size_t place_of(const struct mw_called_by *c, const struct choice *k, const struct branch *b)
{
	size_t at = 0;

	if (b->below == NONE)
		return c->n;
	while (k->numbers[at] != b->below)
		at++;
	for (at++; at < c->n && c->rows[at].depth >= b->depth;)
		at++;
	return at;
}

static void show(struct mw_called_by *c, struct choice *k, const struct branch *b)
{
	struct mw_called_row row = {
		.frames = k->chains[b->first].frames, .n = b->to - b->from, .depth = b->depth
	};
	size_t at = place_of(c, k, b);

	if (row.n)
		row.frames += b->from;
	for (size_t i = b->first; i < b->end; i++)
		for (int by = 0; by < MW_BY_N; by++) {
			const struct mw_profile_stack *s = k->chains[i].stack;

			row.bytes[by] = mw_sum_u64(row.bytes[by], s->bytes[by]);
			row.blocks[by] = mw_sum_u64(row.blocks[by], s->blocks[by]);
			row.samples[by] += s->samples[by];
		}
	memmove(&c->rows[at + 1], &c->rows[at], (c->n - at) * sizeof(*c->rows));
	memmove(&k->numbers[at + 1], &k->numbers[at], (c->n - at) * sizeof(*k->numbers));
	c->rows[at] = row;
	k->numbers[at] = c->n++;
}

static void choose_branches(struct mw_called_by *c, struct choice *k)
{
	struct branch *b;

	if (k->n)
		branch_off(k, (struct branch){ .end = k->n }, NONE, c->by);
	while (!k->failed && c->n < MW_CALLED_BY_MOST && (b = largest(k))) {
		struct branch of = *b; /* they may move */

		b->shown = true;
		show(c, k, &of);
		if (of.to > of.from)
			branch_off(k, of, c->n - 1, c->by);
	}
	for (size_t i = 0; i < k->branches_n; i++)
		c->more += !k->branches[i].shown && k->branches[i].weight;
}

bool mw_called_by_make(struct mw_called_by *c, const struct mw_profile *p)
{
	struct choice k = { .chains = calloc(p->n_stacks + 1, sizeof(*k.chains)), .n = p->n_stacks };

	*c = (struct mw_called_by){ .by = MW_BY_LIVE };
	k.failed = !k.chains;
	for (size_t i = 0; !k.failed && i < k.n; i++)
		k.chains[i] = chain_of(p, &p->stacks[i]);
	if (!k.failed) {
		qsort(k.chains, k.n, sizeof(*k.chains), chain_cmp);
		if (!weigh(&k, 0, k.n, MW_BY_LIVE))
			c->by = MW_BY_TOTAL;
		choose_branches(c, &k);
	}
	free(k.chains);
	free(k.branches);
	return !k.failed;
}

/* --- JSON ----------------------------------------------------------------- */

static void frame(struct mw_buf *b, const struct mw_profile_frame *f)
{
	mw_json_open(b, NULL, '{');
	mw_json_str(b, "name", f->name);
	mw_json_str(b, "file", f->file);
	mw_json_u64(b, "line", f->line);
	mw_buf_str(b, "}");
}

void mw_called_by_json(struct mw_buf *b, const struct mw_called_by *c, const struct mw_profile *p)
{
	mw_buf_str(b, "{");
	mw_json_str(b, "by", c->by == MW_BY_LIVE ? "live" : "total");
	mw_json_u64(b, "samples", p->samples[c->by]);
	mw_json_open(b, "rows", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct mw_called_row *r = &c->rows[i];

		mw_json_open(b, "\n", '{');
		mw_json_u64(b, "depth", r->depth);
		mw_json_u64(b, "live_bytes", r->bytes[MW_BY_LIVE]);
		mw_json_u64(b, "live", r->blocks[MW_BY_LIVE]);
		mw_json_u64(b, "live_samples", r->samples[MW_BY_LIVE]);
		mw_json_u64(b, "total", r->bytes[MW_BY_TOTAL]);
		mw_json_u64(b, "allocations", r->blocks[MW_BY_TOTAL]);
		mw_json_u64(b, "samples", r->samples[MW_BY_TOTAL]);
		mw_json_open(b, "frames", '[');
		for (uint32_t k = 0; k < r->n; k++)
			frame(b, &p->frames[r->frames[k]]);
		mw_buf_str(b, "]}");
	}
	mw_buf_str(b, "]");
	mw_json_u64(b, "more", c->more);
	mw_buf_str(b, "}");
}
