/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspect.c - adds proofs to a verdict, and the locations that a proof should look at. See judge.h. */
#include "judge.h"

enum { LATE_PART = 3 /* of the time that is told of */ };
#define TOP_LEAST 0.1 /* of the growth: a line with less of it isn't the reason */
#define KEPT_LITTLE 0.25 /* of a line's growth: it isn't accused */

/* How much of its growth a line keeps, as far as proofs know; 0: it has stopped. */
static double kept_by(const struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		      const struct mw_verdict_location *at)
{
	double share = mw_kept_at(e, l, at->location, at->len, v->since);
	double late = mw_line_late(l, at, v->to - (v->to - v->since) / LATE_PART) * LATE_PART;

	if (mw_line_stopped(e, l, at, v->since))
		return 0;
	/* what has slowed down counts by what it gains now */
	return (late < at->change ? late : at->change) * (share == share ? share : 1);
}

/* Those come first that keep most of what they grew by, and still grow. */
static void order_by_kept(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	double kept[MW_VERDICT_LOCATIONS];
	/* of a file's many lines, or a gem's, each may have little */
	double least = v->file.share >= 0.5 || v->gem.share >= 0.5 ? 0 : TOP_LEAST;

	for (size_t i = 0; i < v->n; i++) {
		struct mw_verdict_location x = v->locations[i];
		double by = x.share < least ? 0 : kept_by(v, e, l, &x);
		size_t at = i;

		for (; at && kept[at - 1] < by; at--) {
			kept[at] = kept[at - 1];
			v->locations[at] = v->locations[at - 1];
		}
		kept[at] = by;
		v->locations[at] = x;
	}
}

static void suspect(struct mw_verdict *v, const struct mw_curve *c)
{
	for (size_t i = 0; i < v->suspects_n; i++)
		if (v->suspects[i].location == c->location)
			return;
	if (v->suspects_n < MW_VERDICT_SUSPECTS)
		v->suspects[v->suspects_n++] = (struct mw_verdict_suspect){ c->location, c->location_len };
}

/* The locations that a proof should look at: those that rise steadily, and those that gained most. */
static void find_suspects(struct mw_verdict *v, const struct mw_look *l)
{
	enum { RISING = MW_VERDICT_SUSPECTS / 2 };
	const struct mw_curve *best[MW_VERDICT_SUSPECTS];
	double change[MW_VERDICT_SUSPECTS], less;
	size_t n = mw_look_changed(l, v->since, v->to, mw_trend_rise, best, change, RISING, &less);

	for (size_t i = 0; i < n; i++)
		suspect(v, best[i]);
	n = mw_look_changed(l, v->since, v->to, mw_trend_difference, best, change, MW_VERDICT_SUSPECTS,
			    &less);
	for (size_t i = 0; i < n; i++)
		suspect(v, best[i]);
}

/*
 * Would a proof know of half of the growth at least? Of a line that has hardly grown it knows nothing, and the next
 * one comes minutes later.
 */
static bool is_provable(const struct mw_evidence *e, const struct mw_look *l, double since)
{
	const struct mw_curve *best[MW_VERDICT_SUSPECTS];
	double change[MW_VERDICT_SUSPECTS], less, all = 0, known = 0;
	size_t n = mw_look_changed(l, mw_after_start(e, l, since), l->scale->to, mw_trend_difference,
				   best, change, MW_VERDICT_SUSPECTS, &less);

	for (size_t i = 0; i < n; i++) {
		const struct mw_held *h = mw_held_last(e->held, best[i]->location, best[i]->location_len);

		all += change[i];
		if (change[i] >= MW_HELD_GROWN * 1.25 || (h && h->t >= since))
			known += change[i];
	}
	return known * 2 >= all;
}

void mw_judge_add_proof(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
			size_t n)
{
	const struct mw_look *l = NULL;

	for (size_t i = 0; i < n; i++)
		if (!l && looks[i].scale->from <= v->since)
			l = &looks[i];
	if (!l || v->kind == MW_VERDICT_SPIKE)
		return;
	find_suspects(v, l);
	v->provable = is_provable(e, l, v->since);
	if (!v->n)
		return;
	if (v->kind == MW_VERDICT_GROWS && !v->at_location && !v->kept_lines && !v->doubled)
		order_by_kept(v, e, l);
	v->held = mw_held_last(e->held, v->locations[0].location, v->locations[0].len);
	v->kept = mw_kept_share(e, l, v->since);
	v->at_kept = mw_kept_at(e, l, v->locations[0].location, v->locations[0].len, v->since);
	/* a rise by steps may have none between two proofs: then the last one's whole part is told */
	if (v->doubled || (v->kept_lines && v->at_kept < KEPT_LITTLE))
		v->at_kept = mw_held_part(v->held);
	/* the sum is kept, but no line is known that keeps it */
	if (v->kind == MW_VERDICT_GROWS && !v->kept_lines && v->at_kept < KEPT_LITTLE) {
		v->kind = MW_VERDICT_UNCOLLECTED;
		v->growing = v->at_location = v->unproven = false;
		v->rate = 0;
	}
	v->awaits = v->kind == MW_VERDICT_UNCOLLECTED && !e->no_proof && v->kept != v->kept;
	v->no_proof = v->kept == v->kept ? NULL : e->no_proof;
}

bool mw_verdict_wants_proof(const struct mw_verdict *v)
{
	enum { WARMING_PROVEN = 180 }; /* seconds: a rise that goes on may be more than a start */

	/* a growth may hide a line that grows, too */
	return v->suspects_n && (v->growing || (v->kind == MW_VERDICT_UNCOLLECTED && v->provable) ||
				 (v->kind == MW_VERDICT_GREW && v->unsteady) ||
				 (v->kind == MW_VERDICT_WARMING && v->to - v->since >= WARMING_PROVEN));
}
