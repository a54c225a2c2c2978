/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict about processes of known shapes: t/shapes.txt. Each shape is played second by second
 * into a history; then the verdict is asked, and compared with those that are right.
 */
/* uses: @server */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/server/verdict/evidence.h"
#include "../../src/server/verdict/trend.h"
#include "read_shapes.h"

/* --- playing ------------------------------------------------------------------------------ */

/* 0 to 1 */
static double chance(struct term *t)
{
	t->seed ^= t->seed << 13;
	t->seed ^= t->seed >> 7;
	t->seed ^= t->seed << 17;
	return (double)(t->seed >> 11) / (double)(1ull << 53);
}

/* A wave of one period: 0 to 1 and back, by two parabolas, close to a sine. */
static double wave(double x)
{
	x = 2 * (x - (double)(long)x);
	return x < 1   ? x < 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x) :
	       x < 1.5 ? 1 - 2 * (x - 1) * (x - 1) :
			 2 * (2 - x) * (2 - x);
}

/* The last major collection up to then; *n: how many there were. */
static double last_major(const struct shape *s, double now, uint32_t *n)
{
	double at = 0;

	for (*n = 0; *n < s->majors_n && s->majors[*n] <= now; ++*n)
		at = s->majors[*n];
	return at;
}

/* Garbage since the last major collection, and garbage that that one hasn't freed yet. */
static double garbage(const struct shape *s, const struct term *t, double now)
{
	uint32_t n;
	double at = last_major(s, now, &n), before, from = at > t->from ? at : t->from, all = 0;

	if (n && now < at + SWEEP) {
		before = last_major(s, at - 0.5, &n);
		all = (at - (before > t->from ? before : t->from)) * (at + SWEEP - now) / SWEEP;
	}
	return t->size * ((all > 0 ? all : 0) + (now > from ? now - from : 0));
}

/* Between two points it is on their straight line. */
static double recorded(const struct term *t, double now)
{
	size_t i = t->first, end = t->first + t->n;

	while (i + 1 < end && recorded_points[i + 1].t <= now)
		i++;
	if (i + 1 == end || now < recorded_points[i].t)
		return recorded_points[i].v;
	return recorded_points[i].v +
	       (recorded_points[i + 1].v - recorded_points[i].v) * (now - recorded_points[i].t) /
		       (recorded_points[i + 1].t - recorded_points[i].t);
}

static double value(const struct shape *s, struct term *t, double now)
{
	double since = (now < t->until ? now : t->until) - t->from, x;

	if (t->kind == POINTS)
		return recorded(t, now);
	if (t->kind == GARBAGE)
		return garbage(s, t, now < t->until ? now : t->until);

	if (since < 0 && t->kind != NOISE && t->kind != BASE)
		return 0;
	switch (t->kind) {
	case BASE:
		return t->size;
	case SLOPE:
		return t->size * since;
	case TEETH:
		x = since / t->every;
		return t->size * (x - (double)(long)x);
	case NOISE:
		return t->size * chance(t);
	case WALK:
		t->state += t->size * (chance(t) - 0.5);
		if (t->state < 0)
			t->state = -t->state;
		return t->state;
	case SINE:
		return t->size * wave(since / t->every);
	case STEP:
		return t->size;
	case FILLS: /* two thirds of the rest in each period */
		x = 1;
		for (; since >= t->every; since -= t->every)
			x /= 3;
		return t->size * (1 - x * (1 - since / t->every * 2 / 3));
	case STAIRS:
		return t->size * (double)(long)(since / t->every);
	default: /* BURST */
		x = since / t->every;
		return (x - (double)(long)x) * t->every < t->lasts ? t->size : 0;
	}
}

struct played {
	struct mw_history history;
	struct shape *shape;
	double *values[SERIES_MAX]; /* by second */
	size_t seconds;
};

/* As the site keeps curves: each 5 s for 15 minutes, each minute for a day, else more rarely. */
static int curves(void *ctx, double from, double to, struct mw_curve_set *set)
{
	struct played *p = ctx;
	double now = p->shape->starts + p->shape->lasts;
	unsigned step = from >= now - 901                               ? 5 :
			from >= now - 86401 || p->shape->lasts <= 86400 ? 60 :
									  240;
	size_t most = p->seconds / step + 1, points = 0;
	uint32_t *t = calloc(most, sizeof(*t));
	struct mw_curve *v = calloc(SERIES_MAX, sizeof(*v));

	while (step == 240 && most > 360)
		most = p->seconds / (step *= 2) + 1;
	for (size_t at = 0; at < p->seconds; at += step)
		if (p->shape->starts + (double)at >= from && p->shape->starts + (double)at <= to)
			t[points++] = (uint32_t)(p->shape->starts + (double)at);
	*set = (struct mw_curve_set){ .v = v, .rest_n = points, .rest_t = t, .owned = t };
	set->rest_bytes = calloc(points + 1, sizeof(uint64_t)); /* all locations are kept */
	for (size_t i = 0; i < p->shape->lines_n; i++) {
		struct line *l = &p->shape->lines[i];
		uint64_t *bytes;

		if (l->part)
			continue;
		bytes = calloc(points + 1, sizeof(*bytes));
		for (size_t k = 0; k < points; k++)
			bytes[k] = (uint64_t)p->values[i][(size_t)(t[k] - p->shape->starts)];
		v[set->n++] = (struct mw_curve){
			.location = l->name,
			.location_len = (uint32_t)strlen(l->name),
			.file_len = strrchr(l->name, ':') ? (uint32_t)(strrchr(l->name, ':') - l->name) : 0,
			.kind = strrchr(l->name, ':') ? MW_KIND_RUBY : MW_KIND_SPECIAL,
			.n = points,
			.t = t,
			.bytes = bytes
		};
	}
	return 0;
}

static void free_curves(struct mw_curve_set *set)
{
	for (size_t i = 0; set && i < set->n; i++)
		free((void *)(uintptr_t)set->v[i].bytes);
	if (set) {
		free((void *)(uintptr_t)set->rest_bytes);
		free(set->owned);
		free(set->v);
		*set = (struct mw_curve_set){ 0 };
	}
}

/* Parts that the shape doesn't name: some memory of any process. */
static void play(struct played *p, struct shape *s)
{
	memset(p, 0, sizeof(*p));
	p->shape = s;
	p->seconds = (size_t)s->lasts + 1;
	for (size_t i = 0; i < s->lines_n; i++)
		p->values[i] = calloc(p->seconds, sizeof(double));
	for (size_t at = 0; at < p->seconds; at++) {
		double sums[MW_PARTS_N] = {
			[MW_PART_FILES] = 12e6, [MW_PART_STACKS] = 1e5, [MW_PART_TRACKER] = 3e6,
			[MW_PART_ANON] = 1e6,   [MW_PART_FREE] = 2e6,   [MW_PART_HEAP] = 8e6
		};
		bool given[MW_PARTS_N] = { 0 };
		double rss = 0;
		struct mw_point point = { .t = (uint32_t)(s->starts + (double)at),
					  .majors = MW_KIB_UNKNOWN,
					  .gcs = MW_KIB_UNKNOWN,
					  .threads = s->threads ? s->threads : MW_KIB_UNKNOWN,
					  .fds = MW_KIB_UNKNOWN };

		if (s->majors_n) {
			(void)last_major(s, (double)at, &point.majors);
			(void)last_major(s, (double)at - SWEEP, &point.majors_done);
		}
		for (size_t i = 0; i < s->lines_n; i++) {
			struct line *l = &s->lines[i];
			int part = MW_PART_LIVE;
			double v = 0;

			for (size_t k = 0; k < l->n; k++)
				v += value(s, &l->terms[k], (double)at);
			p->values[i][at] = v;
			if (l->part && !strcmp(l->name, "descriptors")) {
				point.fds = (uint32_t)v;
				continue;
			}
			for (int k = 0; l->part && k < MW_PARTS_N; k++)
				if (!strcmp(mw_part_names[k], l->name))
					part = k;
			if (l->part && !given[part])
				sums[part] = 0;
			given[part] = true;
			sums[part] += v;
		}
		for (int k = MW_PART_LIVE; k < MW_PARTS_N; k++)
			rss += sums[k];
		if (given[MW_PART_RSS]) /* as given: live memory fills what was free */
			rss = sums[MW_PART_RSS];
		point.rss = mw_kib((uint64_t)rss);
		point.live = mw_kib((uint64_t)sums[MW_PART_LIVE]);
		point.heap = mw_kib((uint64_t)sums[MW_PART_HEAP]);
		point.free = s->no_arenas ? MW_KIB_UNKNOWN : mw_kib((uint64_t)sums[MW_PART_FREE]);
		point.anon = mw_kib((uint64_t)sums[MW_PART_ANON]);
		point.files = mw_kib((uint64_t)sums[MW_PART_FILES]);
		point.stacks = mw_kib((uint64_t)sums[MW_PART_STACKS]);
		point.tracker = mw_kib((uint64_t)sums[MW_PART_TRACKER]);
		mw_history_add(&p->history, point);
		for (size_t i = 0; i < s->events_n; i++)
			if ((size_t)s->events[i].t == at)
				mw_history_event(&p->history, s->starts + s->events[i].t, "annotation",
						 s->events[i].text);
	}
}

static void plain(char *to, size_t max, void (*words)(struct mw_buf *, const struct mw_verdict *),
		  const struct mw_verdict *v)
{
	struct mw_buf b = { 0 };

	words(&b, v);
	snprintf(to, max, "%.*s", (int)b.n, b.p ? b.p : "");
	mw_buf_free(&b);
}

/* Is a time of the verdict the one that the table has? */
static bool is_then(const struct shape *s, const struct mw_verdict *v, double t, const struct moment *m)
{
	double step = (v->to - v->from) / MW_TREND_BINS, off = t - s->starts - m->t;

	step += 1; /* times are whole seconds */
	return !m->given || (off < 0 ? -off : off) <= (m->within > 0 ? m->within : step);
}

static struct mw_helds helds;

static int forget_proofs(void **state)
{
	(void)state;
	mw_helds_free(&helds);
	return 0;
}

/* Proofs of a line up to then, as of Ruby's heap. */
static void prove_line(struct mw_helds *to, const struct shape *s, const struct line *l)
{
	const struct term *t = l->terms;
	char name[80];

	snprintf(name, sizeof(name), "%s", l->name);
	for (size_t i = t->first; i < t->first + t->n && recorded_points[i].t <= s->lasts; i++)
		assert_true(mw_helds_add(to, &(struct mw_held){ .t = s->starts + recorded_points[i].t,
								.location = name,
								.len = (uint32_t)strlen(name),
								.blocks = 1000,
								.kept = (uint64_t)recorded_points[i].v,
								.owner = "Store::ALL",
								.old_t = __builtin_nan("") }));
}

/* What proofs saw up to then. */
static void prove(struct mw_helds *to, const struct shape *s)
{
	const struct term *t = s->reached.terms;

	for (size_t i = t->first; i < t->first + t->n && recorded_points[i].t <= s->lasts; i++)
		mw_helds_add_heap(to, s->starts + recorded_points[i].t, (uint64_t)recorded_points[i].v);
	for (size_t i = 0; i < s->kept_n; i++)
		prove_line(to, s, &s->kept[i]);
}

/* The verdict after that time. */
static void ask(struct shape *s, double lasts)
{
	struct played *p = malloc(sizeof(*p));
	struct mw_evidence e;
	struct mw_verdict v;
	struct mw_accused told = { .part = MW_PART_LIVE, .rate = 1, .len = (uint32_t)strlen(s->told) };
	char sentence[500], json[4000], member[40], kind[20];
	double whole = s->lasts;
	bool right;

	s->lasts = lasts;
	play(p, s);
	mw_helds_free(&helds); /* also of a shape that failed */
	prove(&helds, s);
	memcpy(told.location, s->told, told.len);
	struct mw_evidence_source src = {
		.no_proof = s->proves ? NULL : "there is no process",
		.accused = told.len ? &told : NULL,
		.history = &p->history,
		.now = s->starts + s->lasts,
		.held = &helds,
		.curves = curves,
		.ctx = p
	};
	assert_int_equal(mw_evidence_make(&e, &src, s->from, s->to), 0);
	assert_int_equal(mw_verdict_make(&v, &e), 0);
	plain(sentence, sizeof(sentence), mw_verdict_sentence, &v);
	snprintf(kind, sizeof(kind), " %s ", mw_verdict_name(v.kind));
	right = strstr(s->is, kind) && (!s->says[0] || strstr(sentence, s->says)) &&
		(!s->never[0] || !strstr(sentence, s->never)) &&
		(!s->at[0] || (v.n && v.locations[0].len == strlen(s->at) &&
			       !strncmp(v.locations[0].location, s->at, strlen(s->at))));
	right = right && !(v.growers_n && !strncmp(sentence, "Nothing grows", 13));
	plain(json, sizeof(json), mw_verdict_json, &v);
	snprintf(member, sizeof(member),
		 strcmp(s->rate_of, "null") ? "\"rate_of\":\"%s\"," : "\"rate_of\":%s,", s->rate_of);
	right = right && (!s->rate_of[0] || strstr(json, member));
	right = right &&
		(!s->wants[0] || !strcmp(s->wants, mw_verdict_wants_proof(&v) ? "wanted" : "unwanted"));
	right = right && is_then(s, &v, v.begun, &s->began) && is_then(s, &v, v.since, &s->ended);
	if (getenv("SHOW") || !right)
		print_message("# %-28s %5.0f %-12s %.2f from %.0f, since %.0f: %s\n", s->name, lasts,
			      mw_verdict_name(v.kind), v.confidence, v.begun - s->starts,
			      v.since - s->starts, sentence);
	/* nobody is accused in a sentence that says that nothing grows */
	assert_true(right);
	for (size_t i = 0; i < e.scales_n; i++)
		free_curves(e.scales[i].curves);
	mw_evidence_free(&e);
	for (size_t i = 0; i < s->lines_n; i++)
		free(p->values[i]);
	free(p);
	s->lasts = whole;
}

static void one_shape(void **state)
{
	struct shape *s = *state;

	if (s->asked_every > 0)
		for (double t = s->asked_from; t < s->lasts; t += s->asked_every)
			ask(s, t);
	ask(s, s->lasts);
}

int main(void)
{
	static struct CMUnitTest tests[SHAPES_MAX];

	read_shapes("t/shapes.txt");
	for (size_t i = 0; i < shapes_n; i++)
		tests[i] = (struct CMUnitTest){ shapes[i].name, one_shape, NULL, NULL, &shapes[i] };
	if (shapes_n < 30)
		fail_msg("there are %zu shapes only", shapes_n);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("shapes", tests, shapes_n, NULL, forget_proofs);
}
