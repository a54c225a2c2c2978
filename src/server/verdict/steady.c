/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steady.c - see steady.h. */
#include "steady.h"

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

bool mw_steady_tells(struct mw_steady *s, const struct mw_verdict *v, double now, uint32_t evidence)
{
	if (!s->told || v->kind == s->kind || evidence != s->evidence || cant_wait(v->kind) ||
	    v->at_once || is_for_now(s->kind)) {
		*s = (struct mw_steady){ .told = true, .kind = v->kind, .evidence = evidence };
		return true;
	}
	if (!s->differs) {
		s->differs = true;
		s->since = now;
	}
	if (now - s->since < MW_STEADY_SECONDS)
		return false;
	*s = (struct mw_steady){ .told = true, .kind = v->kind, .evidence = evidence };
	return true;
}
