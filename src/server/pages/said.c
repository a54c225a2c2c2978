/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * said.c - the site's verdict: it is made from the history, kept for some seconds, and noted when its kind
 * changes. See site.h.
 *
 * A verdict about all ranges costs some milliseconds, so it holds for VERDICT_SECONDS.
 */
#include <stdlib.h>
#include <string.h>

#include "server/objects/objects.h"
#include "server/report/metrics.h"
#include "server/verdict/evidence.h"
#include "server/verdict/look.h"
#include "shared/sys/times.h"
#include "shared/text/json.h"
#include "pages.h"
#include "site.h"

enum { VERDICT_SECONDS = 4 };

static int read_curves(void *ctx, double from, double to, struct mw_curve_set *set)
{
	const struct mw_site *s = ctx;

	return mw_curves_read(&s->curves, s->api, from, to, set);
}

/* The suspects of the judgement, while another verdict is told. */
static void take_suspects(struct mw_said *told, struct mw_said *judged)
{
	mw_buf_free(&told->names);
	told->names = judged->names;
	told->suspects_n = judged->suspects_n;
	memcpy(told->suspects, judged->suspects, sizeof(told->suspects));
	judged->names = (struct mw_buf){ 0 };
}

/* A range's points may be a minute apart. The present values are the newest second's, if it is in the range. */
static void take_newest(struct mw_verdict *v, const struct mw_history *h)
{
	const struct mw_point *last = mw_history_last(h);

	if (!last || last->t > v->to)
		return;
	for (int part = 0; part < MW_PARTS_N; part++) {
		uint32_t kib = mw_rss_part_of(last, (enum mw_rss_part)part);

		if (kib != MW_KIB_UNKNOWN)
			v->now[part] = (double)kib * 1024;
	}
}

/* The locations whose blocks a proof would look at. */
static void keep_suspects(struct mw_said *said, const struct mw_verdict *v)
{
	size_t at[MW_SUSPECTS];

	if (!mw_verdict_wants_proof(v))
		return;
	for (size_t i = 0; i < v->suspects_n && i < MW_SUSPECTS; i++) {
		at[i] = said->names.n;
		mw_buf_add(&said->names, v->suspects[i].location, v->suspects[i].len);
		mw_buf_add(&said->names, "", 1);
		said->suspects_n++;
	}
	for (size_t i = 0; i < said->suspects_n; i++)
		said->suspects[i] = said->names.p + at[i];
	if (said->names.failed)
		said->suspects_n = 0;
}

/* Notes the sentence, if it is of another kind than the one before. */
static void note_sentence(struct mw_site *s, const struct mw_said *said)
{
	struct mw_told *last = s->told_n ? &s->told[(s->told_n - 1) % MW_TOLD] : NULL, *to;
	size_t n = said->sentence.n < MW_TOLD_TEXT ? said->sentence.n :
						     mw_utf8_begin(said->sentence.p, MW_TOLD_TEXT - 1);

	if (last && last->kind == said->kind)
		return;
	to = &s->told[s->told_n++ % MW_TOLD];
	*to = (struct mw_told){ .t = said->at, .kind = said->kind, .proofs = s->proofs.made };
	to->why = !last                               ? "the first one" :
		  last->proofs != s->proofs.made      ? "a proof" :
		  last->events != s->history.events_n ? "an event" :
							"the course of memory";
	to->events = s->history.events_n;
	memcpy(to->text, said->sentence.p, n);
	to->text[n] = '\0';
}

double mw_site_grows_since(const struct mw_site *s)
{
	double since = __builtin_nan("");

	for (uint32_t i = s->told_n; i && s->told_n - i < MW_TOLD; i--) {
		const struct mw_told *t = &s->told[(i - 1) % MW_TOLD];

		if (!mw_verdict_grows(t->kind))
			break;
		since = t->t;
	}
	return since;
}

/* By the option exact:growth. */
static void count_exactly(struct mw_site *s)
{
	if (!s->api->options()->exact_growth || !s->stats.sampled ||
	    !(mw_site_uptime(s) - mw_site_grows_since(s) >= MW_EXACT_AFTER_S) || !s->api->count(true, 0))
		return;
	s->stats.sampled = false; /* until it is read again */
	mw_site_event(s, "exact", "growth");
}

static void proofs(struct mw_buf *b, const struct mw_proofs *p)
{
	mw_json_open(b, "\nproofs", '{');
	mw_json_u64(b, "made", p->made);
	mw_json_seconds(b, "seconds", (double)p->ns / 1e9);
	mw_json_seconds(b, "stopped_seconds", (double)p->stop_ns / 1e9);
	mw_json_str(b, "why_not", p->why[0] ? p->why : NULL);
	mw_buf_str(b, "}");
}

void mw_site_told(struct mw_buf *b, const struct mw_site *s)
{
	uint32_t first = s->told_n > MW_TOLD ? s->told_n - MW_TOLD : 0;

	proofs(b, &s->proofs);
	mw_json_open(b, "\njournal", '[');
	for (uint32_t i = first; i != s->told_n; i++) {
		const struct mw_told *t = &s->told[i % MW_TOLD];

		mw_json_open(b, i == first ? NULL : "\n", '{');
		mw_json_seconds(b, "t", t->t);
		mw_json_str(b, "kind", mw_verdict_name(t->kind));
		mw_json_str(b, "why", t->why);
		mw_json_str(b, "sentence", t->text);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

/* Gives the line that made most objects its name, which is valid until the snapshot is freed. NULL: it has none. */
static struct mw_snapshot *name_made(const struct mw_site *site, struct mw_verdict_made *m)
{
	struct mw_snapshot *s = m->samples ? site->api->snapshot() : NULL;

	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].id == m->line) {
			m->at.location = s->rows[i].location;
			m->at.len = s->rows[i].location_len;
			m->at.file_len = s->rows[i].file_len;
			m->at.kind = s->rows[i].kind;
		}
	if (m->samples && m->line == site->proofs.made_of && site->proofs.made_owner[0])
		m->owner = site->proofs.made_owner;
	return s;
}

static void say(struct mw_said *said, struct mw_site *s, struct mw_verdict *v)
{
	struct mw_snapshot *names = name_made(s, &v->made);
	const struct mw_verdict_location *at;

	take_newest(v, &s->history);
	mw_site_label(s, v);
	mw_reach_find(&v->reach, v, &s->limits, &s->history, mw_unix_now() - mw_site_uptime(s));
	said->reach = v->reach;
	said->kind = v->kind;
	said->growing = v->growing;
	said->rate = v->rate;
	said->beside = mw_verdict_beside(v) ? mw_verdict_beside(v)->rate : 0;
	said->since = v->since;
	keep_suspects(said, v);
	said->made = v->made.samples ? v->made.line : 0;
	mw_verdict_sentence(&said->sentence, v);
	mw_buf_add(&said->sentence, "", 1); /* a C string, for the family */
	said->sentence.n -= !said->sentence.failed;
	if ((at = mw_verdict_at(v))) {
		mw_metrics_location_label(&said->label, at->location, at->len, at->file_len, at->kind);
		mw_buf_add(&said->label, "", 1);
	}
	mw_verdict_next(&said->next, v);
	mw_verdict_json(&said->json, v);
	if (names)
		s->api->snapshot_free(names);
}

/* Is that verdict told now? A range that the reader chose always is. */
static bool tells(struct mw_site *s, const struct mw_verdict *v, double now, bool chosen)
{
	const struct mw_point *last = mw_history_last(&s->history);
	const struct mw_so_far seen = { .events = s->history.events_n,
					.proofs = s->proofs.made,
					.majors = last ? last->majors_done : 0 };

	return chosen || mw_steady_tells(&s->steady, v, now, &seen) || !s->said.sentence.n;
}

int mw_said_make(struct mw_said *said, struct mw_site *s, double from, double to)
{
	const struct mw_proofs *p = &s->proofs;
	size_t stays_n;
	struct mw_object_stay *stay = mw_objects_stays(&stays_n);
	const struct mw_evidence_source src = {
		.stays = stay,
		.stays_n = stays_n,
		.held = &p->helds,
		.no_proof = mw_site_no_proof(s),
		.gc_disabled = p->gc_disabled > 0 ? p->gc_t : 0,
		.accused = &s->steady.accused,
		.history = &s->history,
		.now = mw_site_uptime(s),
		.paused = s->api->paused(),
		.rate = s->sample_rate,
		.curves = read_curves,
		.ctx = s,
	};
	struct mw_evidence e;
	struct mw_verdict v;
	int rc = mw_evidence_make(&e, &src, from, to);

	*said = (struct mw_said){ .at = src.now };
	if (rc) {
		free(stay);
		return rc;
	}
	rc = mw_verdict_make(&v, &e);
	if (!rc && tells(s, &v, src.now, from >= 0)) {
		say(said, s, &v);
		if (said->sentence.failed || said->next.failed || said->json.failed || said->label.failed)
			rc = -1;
	} else if (!rc) { /* another one is told still, but a proof may decide between both */
		keep_suspects(said, &v);
	}
	mw_evidence_free(&e);
	free(stay);
	if (rc)
		mw_said_free(said);
	return rc;
}

void mw_said_free(struct mw_said *said)
{
	mw_buf_free(&said->sentence);
	mw_buf_free(&said->next);
	mw_buf_free(&said->label);
	mw_buf_free(&said->json);
	mw_buf_free(&said->names);
	*said = (struct mw_said){ 0 };
}

const struct mw_said *mw_site_said(struct mw_site *s)
{
	struct mw_said said;

	if (s->said.sentence.n && !s->said.stale && mw_site_uptime(s) < s->said.at + VERDICT_SECONDS)
		return &s->said;
	if (mw_said_make(&said, s, -1, -1))
		return NULL;
	if (!said.sentence.n) { /* the one before holds on */
		atomic_fetch_add(&s->busy, 1);
		s->said.at = said.at;
		take_suspects(&s->said, &said);
		atomic_fetch_sub(&s->busy, 1);
		mw_said_free(&said);
		return &s->said;
	}
	note_sentence(s, &said);
	atomic_fetch_add(&s->busy, 1);
	mw_said_free(&s->said);
	s->said = said;
	atomic_fetch_sub(&s->busy, 1);
	count_exactly(s);
	return &s->said;
}
