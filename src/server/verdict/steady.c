/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steady.c - see steady.h. */
#include "steady.h"

#include <string.h>

#include "trend.h"

/* Something has happened: a jump of memory, or what stops the tracker or the collector. */
static bool cant_wait(enum mw_verdict_kind k)
{
	return k == MW_VERDICT_EXPLODES || k == MW_VERDICT_PAUSED || k == MW_VERDICT_DISABLED;
}

/* It holds for a moment only, or says that more is to come, and that has come. */
static bool is_over(const struct mw_steady *s, const struct mw_verdict *v)
{
	return cant_wait(s->kind) || s->kind == MW_VERDICT_WATCHING ||
	       (s->kind == MW_VERDICT_WARMING && v->growing);
}

/* An accusation that no longer holds. */
static bool is_refuted(const struct mw_steady *s, const struct mw_verdict *v)
{
	return mw_verdict_grows(s->kind) && v->at_once;
}

static bool rests(enum mw_verdict_kind k)
{
	return k == MW_VERDICT_FLAT || k == MW_VERDICT_SAWTOOTH;
}

/* Does the judgement say that what is told isn't so, or accuse another one? Other kinds are another view of the same. */
static bool denies(const struct mw_verdict *v, enum mw_verdict_kind told)
{
	bool grew = v->growing || v->kind == MW_VERDICT_GREW || v->kind == MW_VERDICT_STEP ||
		    v->kind == MW_VERDICT_FILLED || v->kind == MW_VERDICT_UNCOLLECTED ||
		    v->kind == MW_VERDICT_WARMING;

	return mw_verdict_grows(told) || v->growing || (rests(told) && grew);
}

static void accuse(struct mw_accused *a, const struct mw_verdict *v)
{
	const struct mw_verdict_location *at = v->n ? &v->locations[0] : NULL;
	bool by_line = v->kind == MW_VERDICT_GROWS && at && at->len <= sizeof(a->location);

	*a = (struct mw_accused){
		.part = v->part, .since = v->since, .doubled = v->doubled, .len = by_line ? at->len : 0
	};
	a->rate = (by_line ? at->change : v->moved[v->part]) / mw_larger(v->to - v->since, 1);
	if (by_line)
		memcpy(a->location, at->location, at->len);
}

static bool tell_verdict(struct mw_steady *s, const struct mw_verdict *v, double now,
			 const struct mw_so_far *seen)
{
	double since = s->told && v->kind == s->kind ? s->since : now;

	*s = (struct mw_steady){ .told = true, .kind = v->kind, .since = since, .seen = *seen };
	if (v->growing && v->kind != MW_VERDICT_THREADS && v->kind != MW_VERDICT_DESCRIPTORS)
		accuse(&s->accused, v);
	return true;
}

/* Starts or stops a clock; returns how long it has run. */
static double clock_of(double *since, bool runs, double now)
{
	if (!runs || !(*since > 0))
		*since = runs ? now : 0;
	return runs ? now - *since : 0;
}

bool mw_steady_tells(struct mw_steady *s, const struct mw_verdict *v, double now,
		     const struct mw_so_far *seen)
{
	bool happened = seen->events != s->seen.events || seen->proofs != s->seen.proofs;
	bool denied = s->told && denies(v, s->kind);
	double differs, differs_so;
	bool starts = s->kind == MW_VERDICT_WARMING; /* it ends by itself, and doesn't come back */

	if (!s->told || v->kind == s->kind || happened || cant_wait(v->kind) || is_over(s, v) ||
	    is_refuted(s, v))
		return tell_verdict(s, v, now, seen);
	differs = clock_of(&s->differs_since, true, now);
	differs_so = clock_of(&s->denied_since, denied, now);
	/* a major collection has freed what was garbage */
	if ((denied && seen->majors != s->seen.majors) || differs_so >= MW_DIFFERS_SECONDS ||
	    (differs >= MW_DIFFERS_SECONDS && now - s->since >= MW_STEADY_SECONDS) ||
	    (starts && differs >= MW_STARTED_SECONDS))
		return tell_verdict(s, v, now, seen);
	return false;
}
