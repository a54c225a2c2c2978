/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict_names.c - what the sentence names: a location, or the lines of one file or gem. See verdict.h. */
#include <string.h>

#include "verdict.h"
#include "words.h"

/* Does the sentence have that name? Frees it. */
static bool sentence_has(const struct mw_verdict *v, struct mw_buf *name)
{
	struct mw_buf s = { 0 };
	bool does;

	mw_words_sentence(&s, v, NULL);
	does = !s.failed && !name->failed && memmem(s.p, s.n, name->p, name->n);
	mw_buf_free(&s);
	mw_buf_free(name);
	return does;
}

const struct mw_verdict_location *mw_verdict_at(const struct mw_verdict *v)
{
	struct mw_buf name = { 0 };

	if (!v->n)
		return NULL;
	mw_verdict_short(&name, &v->locations[0]);
	return sentence_has(v, &name) ? &v->locations[0] : NULL;
}

const struct mw_verdict_spread *mw_verdict_together(const struct mw_verdict *v)
{
	const struct mw_verdict_spread *of = mw_verdict_most_together(v);
	struct mw_buf name = { 0 };

	if (!of)
		return NULL;
	mw_words_in_lines(&name, of);
	return sentence_has(v, &name) ? of : NULL;
}

bool mw_verdict_wants_label(const struct mw_verdict *v)
{
	return v->growing && (v->kind == MW_VERDICT_GROWS || v->kind == MW_VERDICT_EXPLODES) &&
	       mw_verdict_at(v);
}
