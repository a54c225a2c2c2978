/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draws.c - draws and steps that many parts share. See life.h. */
#include <stdio.h>

#include "life.h"

double draw_rate(struct life *l, const struct part *p)
{
	double time = fmax(l->lasts - p->from, 60), least = 1.5 * MB / time, most = 1024 * MB / time;

	return chance_scale(&l->chance, fmax(least, 1 * KB), fmin(most, 700 * KB));
}

bool is_active(const struct part *p, double t)
{
	return t >= p->from && t < p->until;
}

double steady(struct life *l, const struct part *p, double t)
{
	if (!is_active(p, t))
		return 0;
	return p->rate * (p->factor > 0 ? l->load_now : 1) * chance_between(&l->chance, 0.8, 1.2);
}

void name_owner(struct life *l, struct line *line)
{
	static const char *const names[] = { "Audit::LOG, an Array",      "CACHE, a Hash",
					     "Registry.instance, a Hash", "$seen, an Array",
					     "Session::ALL, a Set",       "Queue::PENDING, an Array" };

	if (line->kind == MW_KIND_RUBY)
		snprintf(line->owner, sizeof(line->owner), "%s", names[chance_below(&l->chance, 6)]);
}
