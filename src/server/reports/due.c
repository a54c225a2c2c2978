/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "due.h"

#include "shared/sys/times.h"

enum { LOOK_MS = 500, SOONEST_MS = 50, RETRY_S = 60, LOOKS = 4 };

static bool holds(const struct mw_report_due *d, const struct mw_report_at *at,
		  const struct mw_report_facts *f)
{
	switch (at->cause) {
	case MW_REPORT_SHARE:
		return f->limit_known && (double)f->used * 100 >= (double)f->limit * (double)at->value;
	case MW_REPORT_RSS:
		return f->rss_known && f->rss >= at->value;
	case MW_REPORT_GROWTH:
		return f->grows >= MW_EXACT_AFTER_S; /* NaN isn't */
	case MW_REPORT_OOM:
		return f->pressed || (f->ooms_known && d->ooms_seen && f->ooms > d->ooms);
	case MW_REPORT_EXIT:
		return f->exits;
	case MW_REPORT_ASKED:
		break;
	}
	return false;
}

int mw_report_is_due(struct mw_report_due *d, const struct mw_options *o, const struct mw_report_facts *f)
{
	int due = f->asked ? (int)MW_REPORT_AT_MAX : -1;

	for (unsigned i = o->report_at_n; i-- > 0;)
		if (holds(d, &o->report_at[i], f) && f->now >= d->next[i])
			due = (int)i;
	/* while a report has to wait, what the kernel counted stays new */
	if (f->ooms_known && (due < 0 || !d->ooms_seen)) {
		d->ooms = f->ooms;
		d->ooms_seen = true;
	}
	return due;
}

void mw_report_was(struct mw_report_due *d, const struct mw_options *o, int which, double now, bool written)
{
	double wait = (double)o->report_every;

	if (!written && wait > RETRY_S)
		wait = RETRY_S;
	if (which < (int)MW_REPORT_AT_MAX)
		d->next[which] = now + wait;
}

/* How much of the way to the nearest moment is behind: 0 to 1, and more. */
static double level_of(const struct mw_report_due *d, const struct mw_options *o,
		       const struct mw_report_facts *f)
{
	double most = 0;

	for (unsigned i = 0; i < o->report_at_n; i++) {
		const struct mw_report_at *at = &o->report_at[i];
		double level = 0;

		if (f->now < d->next[i])
			continue;
		if (at->cause == MW_REPORT_SHARE && f->limit_known && f->limit)
			level = (double)f->used / (double)f->limit * 100 / (double)at->value;
		else if (at->cause == MW_REPORT_RSS && f->rss_known)
			level = (double)f->rss / (double)at->value;
		most = level > most ? level : most;
	}
	return most;
}

int mw_report_next_look(struct mw_report_due *d, const struct mw_options *o,
			const struct mw_report_facts *f)
{
	double level = level_of(d, o, f), seconds = f->now - d->before;
	double speed = seconds > 0 && level > d->level ? (level - d->level) / seconds : 0;
	double ms = speed > 0 ? (1 - level) / speed * 1000 / LOOKS : LOOK_MS;

	d->before = f->now;
	d->level = level;
	return ms > LOOK_MS ? LOOK_MS : ms < SOONEST_MS ? SOONEST_MS : (int)ms;
}
