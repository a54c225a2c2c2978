/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict_json.c - a verdict as JSON. See verdict.h. */
#include <string.h>

#include "verdict.h"

static bool known(double x)
{
	return x == x;
}

static void key(struct mw_buf *b, const char *name)
{
	mw_buf_str(b, ",\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":");
}

static void whole(struct mw_buf *b, double x)
{
	if (known(x))
		mw_buf_i64(b, (int64_t)(x < 0 ? x - 0.5 : x + 0.5));
	else
		mw_buf_str(b, "null");
}

static void fraction(struct mw_buf *b, double x)
{
	mw_buf_seconds(b, x < 0 ? 0 : x > 1 ? 1 : x); /* three decimals */
}

/* Appends what `words` writes, as a JSON string. */
static void text(struct mw_buf *b, const char *name, const struct mw_verdict *v,
		 void (*words)(struct mw_buf *, const struct mw_verdict *))
{
	struct mw_buf s = { 0 };

	words(&s, v);
	key(b, name);
	mw_buf_json(b, s.p ? s.p : "", s.n);
	b->failed |= s.failed;
	mw_buf_free(&s);
}

static void first_short(struct mw_buf *b, const struct mw_verdict *v)
{
	mw_verdict_short(b, &v->locations[0]);
}

/* Does the sentence name a location? */
static bool names_one(const struct mw_verdict *v)
{
	struct mw_buf s = { 0 }, name = { 0 };
	bool does;

	if (!v->n)
		return false;
	mw_verdict_sentence(&s, v);
	mw_verdict_short(&name, &v->locations[0]);
	does = !s.failed && !name.failed && memmem(s.p, s.n, name.p, name.n);
	mw_buf_free(&s);
	mw_buf_free(&name);
	return does;
}

/* Whose rate it is, as the sentence has it. */
static void rate_of(struct mw_buf *b, const struct mw_verdict *v)
{
	const char *of = v->at_location ? "location" : mw_part_names[v->rate_of];

	key(b, "rate_of");
	if (!(v->rate < 0 || v->rate > 0)) {
		mw_buf_str(b, "null");
		return;
	}
	mw_buf_str(b, "\"");
	mw_buf_str(b, of);
	mw_buf_str(b, "\"");
}

static void parts(struct mw_buf *b, const struct mw_verdict *v)
{
	key(b, "parts");
	for (int i = 0; i < MW_PARTS_N; i++) {
		mw_buf_str(b, i ? ",\"" : "{\"");
		mw_buf_str(b, mw_part_names[i]);
		mw_buf_str(b, "\":{\"now\":");
		whole(b, v->now[i]);
		mw_buf_str(b, ",\"change\":");
		whole(b, v->moved[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "}");
}

static void locations(struct mw_buf *b, const struct mw_verdict *v)
{
	double window = v->to - v->since;

	key(b, "locations");
	mw_buf_str(b, "[");
	for (size_t i = 0; i < v->n; i++) {
		const struct mw_verdict_location *l = &v->locations[i];

		mw_buf_str(b, i ? ",{\"location\":" : "{\"location\":");
		mw_buf_json(b, l->location, l->len);
		mw_buf_str(b, ",\"share\":");
		fraction(b, l->share);
		mw_buf_str(b, ",\"change\":");
		whole(b, l->change);
		mw_buf_str(b, ",\"rate_bytes_per_minute\":");
		whole(b, window > 0 ? l->change / window * 60 : 0);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

void mw_verdict_json(struct mw_buf *b, const struct mw_verdict *v)
{
	bool at = names_one(v);

	mw_buf_str(b, "\"kind\":\"");
	mw_buf_str(b, mw_verdict_name(v->kind));
	mw_buf_str(b, "\"");
	key(b, "growing");
	mw_buf_str(b, v->growing ? "true" : "false");
	text(b, "sentence", v, mw_verdict_sentence);
	text(b, "next", v, mw_verdict_next);
	key(b, "at");
	if (at)
		mw_buf_json(b, v->locations[0].location, v->locations[0].len);
	else
		mw_buf_str(b, "null");
	if (at) {
		text(b, "at_text", v, first_short);
	} else {
		key(b, "at_text");
		mw_buf_str(b, "null");
	}
	key(b, "rate_bytes_per_minute");
	whole(b, v->rate * 60);
	rate_of(b, v);
	key(b, "since");
	if (v->kind == MW_VERDICT_WATCHING)
		mw_buf_str(b, "null");
	else
		mw_buf_seconds(b, v->since);
	key(b, "range");
	mw_buf_str(b, "{\"from\":");
	mw_buf_seconds(b, v->from);
	mw_buf_str(b, ",\"to\":");
	mw_buf_seconds(b, v->to);
	mw_buf_str(b, "}");
	key(b, "confidence");
	fraction(b, v->confidence);
	key(b, "watch_seconds");
	mw_buf_u64(b, v->watch);
	parts(b, v);
	locations(b, v);
}
