/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.c - from samples to stacks that add up to the table's rows.
 *
 * Integers all the way: a row's figure is multiplied by a weight of 62 bits and divided by the sum
 * of the weights, in 128 bits. So the parts never add up to more than the figure, and the same
 * samples always give the same profile.
 */
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "sums.h"

__extension__ typedef unsigned __int128 u128;

/* The first are divided, each by itself. Objects are divided by samples of objects alone. */
enum figure {
	LIVE_BYTES,
	TOTAL_BYTES,
	LIVE_BLOCKS,
	TOTAL_BLOCKS,
	BEFORE_BYTES,
	RANGE_BYTES,
	DIVIDED,
	OBJECT_BYTES = DIVIDED,
	OBJECTS,
	FIGURES
};
/* No figure of a row: what a stack weighs if nothing else is known. */
#define EVER FIGURES

/* A row's figures, or what a stack gets of them. */
struct figures {
	uint64_t v[FIGURES];
};

/* One stack's part of a row's figure. */
struct share {
	double weight;
	uint64_t part, rest; /* rest: what the division left, of the sum of all weights */
	size_t place;        /* among the row's stacks */
};

/* The samples by row: those of row r are order[first[r]] to order[first[r + 1]] (exclusive). */
struct by_row {
	size_t *first, *order;
	size_t rows, most; /* most: samples of one row */
	size_t bare; /* stacks of the location alone: of rows without samples, and samples without frames */
};

/* --- memory --------------------------------------------------------------- */

struct kept {
	struct kept *next;
	max_align_t p[];
};

void *mw_profile_keep(struct mw_profile *p, size_t n)
{
	struct kept *k = n < SIZE_MAX / 2 ? malloc(sizeof(*k) + n) : NULL;

	if (!k)
		return NULL;
	k->next = p->memory;
	p->memory = k;
	return k->p;
}

void mw_profile_free(struct mw_profile *p, const struct mw_api *api)
{
	struct kept *next;

	for (struct kept *k = p->memory; k; k = next) {
		next = k->next;
		free(k);
	}
	if (p->snapshot && !p->one_row)
		api->snapshot_free(p->snapshot);
	free(p->frames);
	free(p->stacks);
	*p = (struct mw_profile){ 0 };
}

/* --- figures -------------------------------------------------------------- */

/* Growth is the difference of two figures; that of a range may exceed what lives now. */
static struct figures figures_of(const struct mw_profile *p, const struct mw_row *r)
{
	/* unsigned, since -INT64_MIN would overflow */
	uint64_t before = r->live_bytes,
		 change = r->growth < 0 ? 0 - (uint64_t)r->growth : (uint64_t)r->growth;

	if (r->growth < 0)
		before = mw_sum_u64(before, change);
	else
		before -= before < change ? before : change;
	return (struct figures){ { [LIVE_BYTES] = r->live_bytes,
				   [TOTAL_BYTES] = r->total,
				   [LIVE_BLOCKS] = r->live,
				   [TOTAL_BLOCKS] = r->allocations,
				   [BEFORE_BYTES] = p->ranged ? 0 : before,
				   [RANGE_BYTES] = p->ranged ? change : 0,
				   [OBJECT_BYTES] = r->object_bytes,
				   [OBJECTS] = r->objects } };
}

static bool any(const struct figures *f)
{
	for (int i = 0; i < FIGURES; i++)
		if (f->v[i])
			return true;
	return false;
}

/* Capped, so that their sum is a number. */
static double weight(const struct mw_profile_sampled *s, enum figure figure)
{
	double w = 0;

	switch (figure) {
	case LIVE_BYTES:
	case TOTAL_BYTES:
		w = s->bytes[figure == LIVE_BYTES ? MW_BY_LIVE : MW_BY_TOTAL];
		break;
	case LIVE_BLOCKS:
	case TOTAL_BLOCKS:
		w = s->blocks[figure == LIVE_BLOCKS ? MW_BY_LIVE : MW_BY_TOTAL];
		break;
	case BEFORE_BYTES:
		w = s->before;
		break;
	case RANGE_BYTES:
		w = s->born;
		break;
	case OBJECT_BYTES:
		w = s->bytes[MW_BY_OBJECTS];
		break;
	case OBJECTS:
		w = s->blocks[MW_BY_OBJECTS];
		break;
	case EVER:
		w = s->ever;
		break;
	}
	if (!(w > 0))
		return 0;
	return w < 1e30 ? w : 1e30;
}

/* shrank: in the range */
static int64_t growth_of(const struct mw_profile *p, const struct figures *f, bool shrank)
{
	if (!p->ranged)
		return mw_difference(f->v[LIVE_BYTES], f->v[BEFORE_BYTES]);
	return shrank ? mw_difference(0, f->v[RANGE_BYTES]) : mw_i64_of(f->v[RANGE_BYTES]);
}

static void push_stack(struct mw_profile *p, const struct mw_profile_sampled *s, const struct figures *f,
		       bool shrank)
{
	p->stacks[p->n_stacks++] = (struct mw_profile_stack){
		.frames = s->frames,
		.depth = s->depth,
		.row = s->row,
		.label = s->label,
		.bytes = { f->v[LIVE_BYTES], f->v[TOTAL_BYTES], f->v[OBJECT_BYTES] },
		.blocks = { f->v[LIVE_BLOCKS], f->v[TOTAL_BLOCKS], f->v[OBJECTS] },
		.samples = { s->samples[MW_BY_LIVE], s->samples[MW_BY_TOTAL], s->samples[MW_BY_OBJECTS] },
		.growth = growth_of(p, f, shrank),
		.born_samples = s->born_samples,
	};
}

/* --- dividing ------------------------------------------------------------- */

static int by_rest(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/*
 * Divides `figure` by the weights, whose sum is above 0. One more for each of the largest rests
 * makes it exact: all rests together are less than n times the sum of the weights.
 */
static void divide(uint64_t figure, struct share *s, size_t n, double sum)
{
	uint64_t whole = 0, left = figure;

	for (size_t i = 0; i < n; i++) {
		s[i].rest = (uint64_t)(s[i].weight / sum * (double)(UINT64_C(1) << 62));
		whole += s[i].rest;
	}
	for (size_t i = 0; i < n; i++) {
		u128 product = (u128)figure * s[i].rest;

		s[i].part = (uint64_t)(product / whole);
		s[i].rest = (uint64_t)(product % whole);
		left -= s[i].part;
	}
	if (left)
		qsort(s, n, sizeof(*s), by_rest);
	for (size_t i = 0; i < left; i++)
		s[i].part++;
}

/* Weighs the row's samples by a figure; returns the sum. */
static double weigh(struct share *s, const struct mw_profile_sampled *sampled, const size_t *order,
		    size_t n, enum figure figure)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		s[i] = (struct share){ .weight = weight(&sampled[order[i]], figure), .place = i };
		sum += s[i].weight;
	}
	return sum;
}

/*
 * By the figure's own weights; if there are none, by the next best: by what was sampled before the
 * reset, a location's first stack, or who made objects there. At last in equal shares.
 */
static void divide_figure(uint64_t value, enum figure figure, enum figure first, struct share *s,
			  const struct mw_profile_sampled *sampled, const size_t *order, size_t n)
{
	static const enum figure instead[DIVIDED] = {
		[LIVE_BYTES] = TOTAL_BYTES,   [TOTAL_BYTES] = LIVE_BYTES,  [LIVE_BLOCKS] = TOTAL_BLOCKS,
		[TOTAL_BLOCKS] = LIVE_BLOCKS, [BEFORE_BYTES] = LIVE_BYTES, [RANGE_BYTES] = LIVE_BYTES,
	};
	const enum figure by[] = { first, instead[figure], LIVE_BYTES, TOTAL_BYTES, EVER, OBJECT_BYTES };
	double sum = 0;

	for (size_t i = 0; i < sizeof(by) / sizeof(*by) && sum <= 0; i++)
		sum = weigh(s, sampled, order, n, by[i]);
	for (size_t i = 0; i < n && sum <= 0; i++)
		s[i].weight = 1;
	divide(value, s, n, sum > 0 ? sum : (double)n);
}

/* --- by row --------------------------------------------------------------- */

static void by_row_free(struct by_row *b)
{
	free(b->first);
	free(b->order);
}

static bool is_in(const struct mw_profile *p, const struct mw_profile_sampled *s)
{
	return s->row < p->snapshot->n;
}

/* Sorts by counting. False: no memory. */
static bool by_row_make(struct by_row *b, const struct mw_profile *p, const struct mw_profile_sampled *s,
			size_t n)
{
	size_t at = 0, count;

	*b = (struct by_row){ .rows = p->snapshot->n };
	b->first = calloc(b->rows + 1, sizeof(*b->first));
	b->order = calloc(n + 1, sizeof(*b->order));
	if (!b->first || !b->order)
		return false;
	for (size_t i = 0; i < n; i++)
		if (is_in(p, &s[i]))
			b->first[s[i].row]++, b->bare += !s[i].depth;
	for (size_t r = 0; r < b->rows; r++) {
		struct figures f = figures_of(p, &p->snapshot->rows[r]);

		count = b->first[r];
		b->first[r] = at;
		at += count;
		if (count > b->most)
			b->most = count;
		b->bare += count ? f.v[OBJECTS] > 0 : any(&f);
	}
	b->first[b->rows] = at;
	/* each first moves to its row's end meanwhile */
	for (size_t i = 0; i < n; i++)
		if (is_in(p, &s[i]))
			b->order[b->first[s[i].row]++] = i;
	for (size_t r = b->rows; r; r--)
		b->first[r] = b->first[r - 1];
	b->first[0] = 0;
	b->first[b->rows] = at;
	return true;
}

/* --- a location without a sample ------------------------------------------ */

/* A copy, NUL-terminated; a name may have NULs in it. NULL: no memory. */
static const char *keep_clean_text(struct mw_profile *p, const char *s, size_t n)
{
	char *to = mw_profile_keep(p, n + 1);

	if (!to)
		return NULL;
	for (size_t i = 0; i < n; i++)
		to[i] = s[i] ? s[i] : '?';
	to[n] = 0;
	return to;
}

/* "f" of "MODULE(f+0x1f) [0x7f..]", else all before the address; 0 is never the length. */
static const char *function_of(const struct mw_row *r, size_t file_len, size_t *n)
{
	const char *s = r->location + file_len, *end = r->location + r->location_len, *plus, *space;

	if (s < end && *s == '(') {
		plus = memchr(s, '+', (size_t)(end - s));
		if (plus && plus > s + 1) {
			*n = (size_t)(plus - s) - 1;
			return s + 1;
		}
	}
	space = memrchr(r->location, ' ', r->location_len);
	*n = space && space > r->location && space[1] == '[' ?
		     (size_t)(space - r->location) :
		     r->location_len;
	return r->location;
}

/* False: no memory. */
static bool location_frame(struct mw_profile *p, const struct mw_row *r, struct mw_profile_frame *to)
{
	size_t file_len = r->file_len <= r->location_len && r->kind != MW_KIND_SPECIAL ? r->file_len : 0;
	size_t n = r->location_len;
	const char *name = r->location;

	*to = (struct mw_profile_frame){ .kind = r->kind };
	if (r->kind == MW_KIND_RUBY)
		to->line = r->at < UINT32_MAX ? (uint32_t)r->at : 0;
	if (r->kind == MW_KIND_NATIVE) {
		name = function_of(r, file_len, &n);
		to->address = mw_location_address(r->location, r->location_len);
	}
	to->name = n ? keep_clean_text(p, name, n) : "?";
	to->file = file_len ? keep_clean_text(p, r->location, file_len) : "";
	return to->name && to->file;
}

/*
 * Appends a stack; one without frames is the location's own, a new frame, whose room is there.
 * False: no memory.
 */
static bool append(struct mw_profile *p, const struct mw_profile_sampled *s, const struct figures *f,
		   bool shrank)
{
	struct mw_profile_sampled bare = *s;
	uint32_t *frame;

	if (!bare.depth) {
		frame = mw_profile_keep(p, sizeof(*frame));
		if (!frame || !location_frame(p, &p->snapshot->rows[s->row], &p->frames[p->n_frames]))
			return false;
		*frame = (uint32_t)p->n_frames++;
		bare.frames = frame;
		bare.depth = 1;
	}
	push_stack(p, &bare, f, shrank);
	return true;
}

/* --- profiles ------------------------------------------------------------- */

/* Has the stack anything to show: a part of the row, or a sample? */
static bool shows(const struct mw_profile_sampled *s, const struct figures *f)
{
	return any(f) || s->samples[MW_BY_LIVE] || s->samples[MW_BY_TOTAL];
}

/* The stack of a location alone. */
static struct mw_profile_sampled own(const struct mw_profile *p, const struct mw_row *r)
{
	return (struct mw_profile_sampled){
		.row = (uint32_t)(r - p->snapshot->rows),
		.samples[MW_BY_OBJECTS] =
			r->object_samples < UINT32_MAX ? (uint32_t)r->object_samples : UINT32_MAX
	};
}

/* Appends a stack of the row's objects, if it has any. False: no memory. */
static bool append_objects(struct mw_profile *p, const struct mw_row *r)
{
	const struct figures f = { { [OBJECT_BYTES] = r->object_bytes, [OBJECTS] = r->objects } };
	const struct mw_profile_sampled s = own(p, r);

	return !r->objects || append(p, &s, &f, false);
}

static uint64_t rounded(double w)
{
	return w < 9e18 ? (uint64_t)(w + 0.5) : (uint64_t)9e18;
}

/* A profile's sources, and memory for the parts of one row. */
struct division {
	struct mw_profile *p;
	const struct mw_profile_sampled *sampled;
	bool raw; /* parts are as estimated, but for objects: these are an estimate in the row, too */
	struct share *shares;
	struct figures *parts;
};

static void estimate_figures(const struct division *d, const size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (enum figure f = 0; f < DIVIDED; f++)
			d->parts[i].v[f] = rounded(weight(&d->sampled[order[i]], f));
}

static void divide_figures(const struct division *d, const struct mw_row *r, const size_t *order, size_t n)
{
	const struct figures all = figures_of(d->p, r);

	for (enum figure f = 0; f < DIVIDED; f++) {
		/* a row that shrank is divided by its live bytes, not by those born */
		enum figure first = f == RANGE_BYTES && r->growth < 0 ? LIVE_BYTES : f;

		divide_figure(all.v[f], f, first, d->shares, d->sampled, order, n);
		for (size_t i = 0; i < n; i++)
			d->parts[d->shares[i].place].v[f] = d->shares[i].part;
	}
}

/* By the samples of objects alone. False: there are none. */
static bool divide_objects(const struct division *d, const struct mw_row *r, const size_t *order, size_t n)
{
	const struct figures all = figures_of(d->p, r);

	for (enum figure f = OBJECT_BYTES; f < FIGURES; f++) {
		double sum = weigh(d->shares, d->sampled, order, n, f);

		if (sum <= 0)
			sum = weigh(d->shares, d->sampled, order, n, OBJECT_BYTES);
		if (sum <= 0)
			return false;
		divide(all.v[f], d->shares, n, sum);
		for (size_t i = 0; i < n; i++)
			d->parts[d->shares[i].place].v[f] = d->shares[i].part;
	}
	return true;
}

/* Appends the stacks of a row. False: no memory. */
static bool divide_row(const struct division *d, const struct mw_row *r, const size_t *order, size_t n)
{
	bool known;

	memset(d->parts, 0, n * sizeof(*d->parts));
	if (d->raw)
		estimate_figures(d, order, n);
	else
		divide_figures(d, r, order, n);
	known = divide_objects(d, r, order, n);
	for (size_t i = 0; i < n; i++)
		if (shows(&d->sampled[order[i]], &d->parts[i]) &&
		    !append(d->p, &d->sampled[order[i]], &d->parts[i], !d->raw && r->growth < 0))
			return false;
	return known || append_objects(d->p, r);
}

/* Room for the stacks of all samples, and for frames and stacks of `bare` rows. */
static bool make_stacks_room(struct mw_profile *p, const struct by_row *b, size_t bare)
{
	size_t n = p->n_frames + bare;
	struct mw_profile_frame *frames = NULL;

	if (n < UINT32_MAX)
		frames = realloc(p->frames, (n + 1) * sizeof(*frames));
	if (frames)
		p->frames = frames;
	free(p->stacks);
	p->n_stacks = 0;
	p->stacks = calloc(b->first[b->rows] + bare + 1, sizeof(*p->stacks));
	return frames && p->stacks;
}

void mw_profile_sum_samples(struct mw_profile *p)
{
	for (int by = 0; by < MW_BY_N; by++) {
		p->samples[by] = 0;
		for (size_t i = 0; i < p->n_stacks; i++)
			p->samples[by] += p->stacks[i].samples[by];
	}
	p->born_samples = 0;
	for (size_t i = 0; i < p->n_stacks; i++)
		p->born_samples += p->stacks[i].born_samples;
}

static bool divide_rows(const struct division *d, const struct by_row *b)
{
	struct mw_profile *p = d->p;
	bool good = d->shares && d->parts;

	for (size_t r = 0; good && r < b->rows; r++) {
		const struct mw_row *row = &p->snapshot->rows[r];
		size_t n = b->first[r + 1] - b->first[r];
		const struct mw_profile_sampled alone = own(p, row);
		struct figures f = figures_of(p, row);

		if (n)
			good = divide_row(d, row, b->order + b->first[r], n);
		else if (d->raw)
			good = append_objects(p, row);
		else if (any(&f))
			good = append(p, &alone, &f, row->growth < 0);
	}
	return good;
}

static bool make_from_samples(struct mw_profile *p, const struct mw_profile_sampled *s, size_t n, bool raw)
{
	struct division d = { .p = p, .sampled = s, .raw = raw };
	struct by_row b;
	bool good = by_row_make(&b, p, s, n) && make_stacks_room(p, &b, b.bare);

	if (good) {
		d.shares = calloc(b.most + 1, sizeof(*d.shares));
		d.parts = calloc(b.most + 1, sizeof(*d.parts));
		good = divide_rows(&d, &b);
	}
	free(d.shares);
	free(d.parts);
	by_row_free(&b);
	if (!good)
		p->n_stacks = 0;
	mw_profile_sum_samples(p);
	return good;
}

bool mw_profile_calibrate(struct mw_profile *p, const struct mw_profile_sampled *s, size_t n)
{
	return make_from_samples(p, s, n, false);
}

bool mw_profile_estimate(struct mw_profile *p, const struct mw_profile_sampled *s, size_t n)
{
	return make_from_samples(p, s, n, true);
}
