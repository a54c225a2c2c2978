/* SPDX-License-Identifier: GPL-2.0-or-later */
/* play.c - see play.h. */
#include "play.h"

#include "../../src/server/verdict/trend.h"
#include "objects.h"

#include <stdlib.h>
#include <string.h>

enum { PEEK_SECONDS = 70 }; /* the server looks at its own verdict when a proof may be made */

enum stub play_stub;
double play_every;

/* --- the curves: the product's own code reads the lines of the life that is played ----------------- */

static struct life *played;
static struct mw_curves curves; /* one for all lives: its memory is used again */
static bool seen[LINES_MAX];

static bool live_sums(struct mw_live_sums *s)
{
	*s = (struct mw_live_sums){ .end = (uint32_t)played->lines_n + 1,
				    .v = calloc(played->lines_n + 1, sizeof(*s->v)) };
	for (size_t i = 0; i < played->lines_n; i++)
		s->v[i + 1].bytes = (uint64_t)line_live(&played->lines[i]);
	return true;
}

static void live_sums_free(struct mw_live_sums *s)
{
	free(s->v);
}

/* A line that has never allocated isn't in the table. */
static struct mw_snapshot *snapshot(void)
{
	struct mw_snapshot *s = calloc(1, sizeof(*s));

	s->rows = calloc(played->lines_n, sizeof(*s->rows));
	for (size_t i = 0; i < played->lines_n; i++) {
		const struct line *line = &played->lines[i];

		seen[i] |= line_live(line) > 0;
		if (seen[i])
			s->rows[s->n++] = (struct mw_row){
				.id = (uint32_t)i + 1,
				.location = line->name,
				.location_len = (uint32_t)strlen(line->name),
				.file_len = line->file_len,
				.kind = line->kind,
				.live_bytes = (uint64_t)line_live(line)
			};
	}
	return s;
}

static void snapshot_free(struct mw_snapshot *s)
{
	free(s->rows);
	free(s);
}

static void *keep(size_t bytes)
{
	return calloc(1, bytes);
}

static const struct mw_api api = { .live_sums = live_sums,
				   .live_sums_free = live_sums_free,
				   .snapshot = snapshot,
				   .snapshot_free = snapshot_free,
				   .keep = keep };

static int read_curves(void *ctx, double from, double to, struct mw_curve_set *set)
{
	(void)ctx;
	return mw_curves_read(&curves, &api, from, to, set);
}

/* --- the stubs --------------------------------------------------------------------------- */

static void stub(struct mw_verdict *v, const struct mw_evidence *e)
{
	const struct mw_curve_set *set = e->scales[0].curves;
	const struct mw_curve *most = NULL;

	v->growing = play_stub == ALWAYS_LARGEST;
	v->kind = v->growing ? MW_VERDICT_GROWS : MW_VERDICT_FLAT;
	v->from = v->since = e->scales[0].from;
	v->n = 0;
	for (size_t i = 0; v->growing && i < set->n; i++)
		if (set->v[i].n && (!most || set->v[i].bytes[set->v[i].n - 1] > most->bytes[most->n - 1]))
			most = &set->v[i];
	if (most)
		v->locations[v->n++] = (struct mw_verdict_location){
			.location = most->location,
			.len = most->location_len,
			.file_len = most->file_len,
			.kind = most->kind,
			.change = (double)most->bytes[most->n - 1],
			.share = 1
		};
}

/* --- asking -------------------------------------------------------------------------------- */

static void as_text(char to[SENTENCE], const struct mw_verdict *v)
{
	struct mw_buf b = { 0 };
	size_t n;

	mw_verdict_sentence(&b, v);
	n = b.n < SENTENCE - 1 ? b.n : SENTENCE - 1;
	memcpy(to, b.p, n);
	to[n] = '\0';
	mw_buf_free(&b);
}

/* Another kind is told than before. */
static void count_change(struct play *p, enum mw_verdict_kind before, double t)
{
	uint32_t truth = judge_truth(p, t);

	if (p->told.kind == before && p->told_t > 0)
		return;
	if (p->told_t > 0 && before != MW_VERDICT_WATCHING && before != MW_VERDICT_WARMING) {
		p->changes.all++;
		p->changes.soon += t - p->told_t < SOON_SECONDS;
		p->changes.causeless += t - p->told_t < SOON_SECONDS && truth == p->told_truth;
	}
	p->told_t = t;
	p->told_truth = truth;
}

/* The judgement now; it is told if it may. */
static void ask(struct play *p, double t)
{
	size_t stays_n;
	const struct mw_object_stay *stays = objects_stays(&stays_n);
	const struct mw_evidence_source src = {
		.stays = stays,
		.stays_n = stays_n,
		.history = &p->history,
		.now = p->life.starts + t,
		.curves = read_curves,
		.held = &p->helds,
		.no_proof = p->life.proves ? NULL : "proofs are off",
		.gc_disabled = p->gc_disabled,
		.accused = &p->steady.accused
	};
	struct mw_evidence e;
	struct mw_verdict v;

	if (mw_evidence_make(&e, &src, -1, -1) || mw_verdict_make(&v, &e))
		abort();
	if (play_stub != NO_STUB)
		stub(&v, &e);
	objects_judge(&p->life, &v, t);
	proof_want(p, &v, t);
	if (mw_steady_tells(&p->steady, &v, src.now,
			    &(struct mw_so_far){ .proofs = p->helds.n, .majors = p->life.gc.majors_done })) {
		enum mw_verdict_kind before = p->told.kind;

		mw_evidence_free(&p->told_of);
		p->told_of = e;
		p->told = v;
		count_change(p, before, t);
	} else {
		mw_evidence_free(&e);
	}
}

static void judge(struct play *p, double t)
{
	struct moment *m = &p->moments[p->moments_n];

	if (p->moments_n == MOMENTS_MAX)
		return;
	*m = (struct moment){ .t = t, .kind = p->told.kind, .part = -1, .blamed = -1 };
	as_text(m->sentence, &p->told);
	judge_moment(p, &p->told, m);
	p->moments_n++;
}

/* Each `every` seconds, more or less; and for a while each 20 s. */
static double next_time(struct life *l, double t, double every, double dense)
{
	if (t >= dense && t < dense + 160)
		return t + 20;
	return t + floor(chance_between(&l->chance, 0.7, 1.3) * every);
}

/* A reader has a page open that asks all the time: so once before, when another kind may begin to wait. */
static bool is_asked(const struct play *p, double t, double next, double peek)
{
	if (play_every > 0 && t >= MW_TREND_SECONDS && (long)t % (long)play_every == 0)
		return true;
	return t >= next || t == next - MW_DIFFERS_SECONDS - 1 || (t >= peek && proof_is_due(p, t));
}

void play_life(struct play *p, uint64_t seed, uint64_t nth, const char *only)
{
	struct life *l = &p->life;
	double next, peek = PEEK_SECONDS, every, dense;

	memset(p, 0, sizeof(*p));
	life_draw(l, seed, nth, only);
	p->proof_t = -1e9;
	p->answer_t = NEVER;
	p->gc_disabled = -1;
	played = l;
	objects_begin(l);
	memset(seen, 0, sizeof(seen));
	mw_curves_start(&curves, &api, true, false);
	every = fmax(l->lasts / 16, 20);
	dense = chance_unit(&l->chance) * l->lasts;
	next = floor(chance_between(&l->chance, 31, 60));
	for (double t = 0; t < l->lasts; t++) {
		struct mw_point point;

		life_second(l, t, &point);
		objects_second(l, t);
		mw_history_add(&p->history, point);
		mw_curves_second(&curves, &api, l->starts + t);
		proof_second(p, t);
		if (!is_asked(p, t, next, peek))
			continue;
		ask(p, t);
		peek = t + PEEK_SECONDS;
		if (t < next)
			continue;
		judge(p, t);
		next = next_time(l, t, every, dense);
	}
	judge_flaps(p);
}

void play_free(struct play *p)
{
	mw_helds_free(&p->helds);
	mw_evidence_free(&p->told_of);
	life_free(&p->life);
}
