/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steady.c - see steady.h. */
#include "steady.h"

#include <string.h>

#include "trend.h"

static bool cant_wait(enum mw_verdict_kind k)
{
	return k == MW_VERDICT_EXPLODES || k == MW_VERDICT_PAUSED || k == MW_VERDICT_DISABLED;
}

/* These say that more is to come. */
static bool is_for_now(enum mw_verdict_kind k)
{
	return k == MW_VERDICT_WATCHING || k == MW_VERDICT_WARMING || k == MW_VERDICT_PAUSED ||
	       k == MW_VERDICT_EXPLODES;
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

static bool tell(struct mw_steady *s, const struct mw_verdict *v, uint32_t evidence)
{
	*s = (struct mw_steady){ .told = true, .kind = v->kind, .evidence = evidence };
	if (v->growing && v->kind != MW_VERDICT_THREADS && v->kind != MW_VERDICT_DESCRIPTORS)
		accuse(&s->accused, v);
	return true;
}

bool mw_steady_tells(struct mw_steady *s, const struct mw_verdict *v, double now, uint32_t evidence)
{
	if (!s->told || v->kind == s->kind || evidence != s->evidence || cant_wait(v->kind) ||
	    v->at_once || is_for_now(s->kind))
		return tell(s, v, evidence);
	if (!s->differs) {
		s->differs = true;
		s->since = now;
	}
	return now - s->since >= MW_STEADY_SECONDS && tell(s, v, evidence);
}
