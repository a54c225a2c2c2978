/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict_json.c - a verdict as JSON. See verdict.h. */
#include "verdict.h"
#include "words.h"
#include "shared/text/json.h"

#define UNKNOWN __builtin_nan("")

static void whole_json(struct mw_buf *b, const char *name, double x)
{
	mw_json_key(b, name);
	if (mw_known(x))
		mw_buf_i64(b, (int64_t)(x < 0 ? x - 0.5 : x + 0.5));
	else
		mw_buf_str(b, "null");
}

static void fraction(struct mw_buf *b, const char *name, double x)
{
	if (mw_known(x))
		mw_json_seconds(b, name, x < 0 ? 0 : x > 1 ? 1 : x); /* three decimals */
	else
		mw_json_str(b, name, NULL);
}

/* Appends what `words` writes, as a JSON string. */
static void words_json(struct mw_buf *b, const char *name, const struct mw_verdict *v,
		       void (*words)(struct mw_buf *, const struct mw_verdict *))
{
	struct mw_buf s = { 0 };

	words(&s, v);
	mw_json_take(b, name, &s);
}

/* The location to look at first: the one that the sentence is about, or one that grows beside that. */
static const struct mw_verdict_location *first_of(const struct mw_verdict *v)
{
	const struct mw_grower *beside = mw_verdict_beside(v);

	return beside ? &beside->at : mw_verdict_at(v);
}

static void first_short(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_verdict_short(b, first_of(v));
}

static void growers(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_json_open(b, "\ngrowers", '[');
	for (size_t i = 0; i < v->growers_n; i++) {
		const struct mw_grower *g = &v->growers[i];

		mw_json_open(b, i ? "\n" : NULL, '{');
		mw_json_text(b, "location", g->at.location, g->at.len);
		mw_json_seconds(b, "since", g->since);
		whole_json(b, "change", g->at.change);
		whole_json(b, "rate_bytes_per_minute", g->rate * 60);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

/* The owner of the rate that the sentence gives. */
static void rate_of(struct mw_buf *b, const struct mw_verdict *v)
{
	bool by_line = v->at_location || (v->kept_lines == 1 && v->n);
	const char *of = by_line ? "location" : mw_part_names[v->rate_of];

	mw_json_str(b, "\nrate_of", v->rate < 0 || v->rate > 0 ? of : NULL);
}

static void verdict_parts_json(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_json_open(b, "\nparts", '{');
	for (int i = 0; i < MW_PARTS_N; i++) {
		mw_json_open(b, mw_part_names[i], '{');
		whole_json(b, "now", v->now[i]);
		whole_json(b, "change", v->moved[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "}");
}

static void locations(struct mw_buf *b, const struct mw_verdict *v)
{
	double window = v->to - v->since;

	mw_json_open(b, "\nlocations", '[');
	for (size_t i = 0; i < v->n; i++) {
		const struct mw_verdict_location *l = &v->locations[i];

		mw_json_open(b, NULL, '{');
		mw_json_text(b, "location", l->location, l->len);
		fraction(b, "share", l->share);
		whole_json(b, "change", l->change);
		whole_json(b, "rate_bytes_per_minute", window > 0 ? l->change / window * 60 : 0);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void held(struct mw_buf *b, const struct mw_held *h)
{
	mw_json_open(b, "\nproof", '{');
	mw_json_seconds(b, "t", h->t);
	mw_json_text(b, "location", h->location, h->len);
	mw_json_u64(b, "blocks", h->blocks);
	mw_json_u64(b, "kept", h->kept);
	mw_json_u64(b, "garbage", h->garbage);
	mw_json_u64(b, "lost", h->lost);
	mw_json_str(b, "owner", h->owner[0] ? h->owner : NULL);
	mw_buf_str(b, "}");
}

static void reached(struct mw_buf *b, const struct mw_held_heap *h)
{
	if (!(h->t > 0)) {
		mw_json_str(b, "\nheap_reached", NULL);
		return;
	}
	mw_json_open(b, "\nheap_reached", '{');
	mw_json_seconds(b, "t", h->t);
	mw_json_u64(b, "bytes", h->bytes);
	mw_buf_str(b, "}");
}

static void made(struct mw_buf *b, const struct mw_verdict_made *m)
{
	mw_json_open(b, "\nmade", '{');
	mw_json_text(b, "location", m->at.location, m->at.len);
	mw_json_u64(b, "samples", m->samples);
	whole_json(b, "object_bytes", m->at.change);
	fraction(b, "share", m->at.share);
	fraction(b, "error", m->error);
	mw_json_open(b, "classes", '[');
	for (size_t i = 0; i < 2 && m->classes[i]; i++)
		mw_json_str(b, NULL, m->classes[i]);
	mw_buf_str(b, "]");
	mw_json_str(b, "owner", m->owner);
	mw_buf_str(b, "}");
}

static void verdict_label_json(struct mw_buf *b, const struct mw_verdict_label *l)
{
	if (!l->name) {
		mw_json_str(b, "\nlabel", NULL);
		return;
	}
	mw_json_open(b, "\nlabel", '{');
	mw_json_str(b, "name", l->name);
	fraction(b, "share", l->share);
	fraction(b, "error", l->error);
	mw_json_u64(b, "samples", l->samples);
	mw_buf_str(b, "}");
}

/* The file or gem that the sentence names. text: as it does */
static void together(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_spread *of = mw_verdict_together(v);
	struct mw_buf s = { 0 };

	if (!of) {
		mw_json_str(b, "\ntogether", NULL);
		return;
	}
	mw_json_open(b, "\ntogether", '{');
	mw_json_str(b, "group", of == &v->gem ? "gem" : "file");
	mw_json_text(b, "name", of->name, of->len);
	mw_words_spread(&s, of);
	mw_json_take(b, "text", &s);
	mw_json_u64(b, "lines", of->lines);
	fraction(b, "share", of->share);
	mw_buf_str(b, "}");
}

/* The sentence's evidence, beside parts and locations. */
static void evidence(struct mw_buf *b, const struct mw_verdict *v)
{
	bool counts = v->kind == MW_VERDICT_THREADS || v->kind == MW_VERDICT_DESCRIPTORS;

	mw_json_open(b, "\nevidence", '{');
	fraction(b, "kept", v->kept);
	if (v->held)
		held(b, v->held);
	else
		mw_json_str(b, "\nproof", NULL);
	reached(b, &v->reached);
	if (v->made.samples && v->made.at.location)
		made(b, &v->made);
	else
		mw_json_str(b, "\nmade", NULL);
	verdict_label_json(b, &v->label);
	mw_json_bool(b, "\nproof_to_come", v->awaits);
	whole_json(b, "count", counts ? v->count : UNKNOWN);
	whole_json(b, "count_gain", counts ? v->count_gain : UNKNOWN);
	whole_json(b, "seconds_without_collection", v->kind == MW_VERDICT_DISABLED ? v->idle : UNKNOWN);
	whole_json(b, "spike", v->kind == MW_VERDICT_SPIKE ? v->spike : UNKNOWN);
	whole_json(b, "in_first_minute", v->unsteady && v->in_start > 0 ? v->in_start : UNKNOWN);
	whole_json(b, "doubled", v->doubled ? v->doubled : UNKNOWN);
	mw_buf_str(b, "}");
}

static void reach(struct mw_buf *b, const struct mw_reach *r)
{
	if (!r->of) {
		mw_json_str(b, "\nlimit", NULL);
		return;
	}
	mw_json_open(b, "\nlimit", '{');
	mw_json_str(b, "of", mw_limit_names[r->of]);
	whole_json(b, "bytes", r->limit);
	mw_json_seconds(b, "soonest_seconds", r->soonest);
	whole_json(b, "latest_seconds", r->latest < MW_REACH_NEVER ? r->latest : UNKNOWN);
	mw_buf_str(b, "}");
}

void mw_verdict_json(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_location *at = first_of(v);

	mw_json_str(b, "kind", mw_verdict_name(v->kind));
	mw_json_bool(b, "\ngrowing", v->growing);
	words_json(b, "\nsentence", v, mw_verdict_sentence);
	words_json(b, "\nnext", v, mw_verdict_next);
	mw_json_text(b, "\nat", at ? at->location : NULL, at ? at->len : 0);
	if (at)
		words_json(b, "\nat_text", v, first_short);
	else
		mw_json_str(b, "\nat_text", NULL);
	whole_json(b, "\nrate_bytes_per_minute", v->rate * 60);
	rate_of(b, v);
	if (v->kind == MW_VERDICT_WATCHING)
		mw_json_str(b, "\nsince", NULL);
	else
		mw_json_seconds(b, "\nsince", v->since);
	mw_json_open(b, "\nrange", '{');
	mw_json_seconds(b, "from", v->from);
	mw_json_seconds(b, "to", v->to);
	mw_buf_str(b, "}");
	reach(b, &v->reach);
	fraction(b, "\nconfidence", v->confidence);
	mw_json_u64(b, "\nwatch_seconds", v->watch);
	evidence(b, v);
	verdict_parts_json(b, v);
	locations(b, v);
	together(b, v);
	growers(b, v);
}
