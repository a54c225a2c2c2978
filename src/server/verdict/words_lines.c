/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words_lines.c - where a growth is, and what keeps it, in words. See words.h. */
#include <string.h>

#include "verdict.h"
#include "words.h"

/* ", kept by Audit::LOG, an Array"; what nothing leads to is a native leak. Next to nothing isn't worth a word. */
void mw_words_kept_by(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_held *h = v->held;

	if (!h || !(v->at_kept >= 0.05))
		return;
	if (v->at_kept < 0.9) {
		mw_buf_str(b, ", ");
		mw_words_share(b, v->at_kept);
		mw_buf_str(b, " of it");
	} else {
		mw_buf_str(b, ",");
	}
	if (h->lost > h->kept) {
		mw_buf_str(b, " held by nothing: a native leak");
	} else {
		mw_buf_str(b, h->owner[0] ? " kept by " : " kept");
		mw_buf_tsv(b, h->owner, strlen(h->owner));
	}
}

/* ". No proof says what is kept: proofs are off" */
void mw_words_no_proof(struct mw_buf *b, const struct mw_verdict *v)
{
	if (!v->no_proof)
		return;
	mw_buf_str(b, ". No proof says what is kept: ");
	mw_buf_str(b, v->no_proof);
}

/* Is the location one of that file's, or of that gem's? */
static bool is_in(const struct mw_verdict_location *l, const struct mw_verdict_spread *of)
{
	return l->kind == MW_KIND_RUBY && memmem(l->location, l->file_len, of->name, of->len);
}

/* Of their lines, the one that has most, if it is among those that are told. */
static const struct mw_verdict_location *most_of(const struct mw_verdict *v,
						 const struct mw_verdict_spread *of)
{
	for (size_t i = 0; i < v->n; i++)
		if (is_in(&v->locations[i], of))
			return &v->locations[i];
	return NULL;
}

/* "98 % of that in app.rb, on 6 lines, most at app.rb:12"; false: no file and no gem has half of it. */
static bool together(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_location *most;
	const struct mw_verdict_spread *all[] = { &v->file, &v->gem }, *of = NULL;

	for (size_t i = 0; i < 2 && !of; i++)
		if (all[i]->lines > 1 && all[i]->share >= 0.5)
			of = all[i];
	if (!of)
		return false;
	const struct mw_verdict_location as = { of->name, of->len, of->len, MW_KIND_RUBY, 0, 0 };

	mw_words_share(b, of->share);
	mw_buf_str(b, of == &v->gem ? " of that in the gem " : " of that in ");
	mw_verdict_short(b, &as);
	mw_buf_str(b, ", on ");
	mw_words_number(b, of->lines, " line", " lines");
	most = most_of(v, of);
	if (most) {
		mw_buf_str(b, most->share >= 0.1 ? ", most at " : ", such as ");
		mw_verdict_short(b, most);
	}
	return true;
}

/* "91 % of that at redcarpet.rb:51", or what its lines have in common */
void mw_words_where(struct mw_buf *b, const struct mw_verdict *v)
{
	double first = v->locations[0].share;

	if (first < 0.5 && together(b, v))
		return;
	if (first < 0.01) {
		mw_buf_str(b, "spread over many lines");
		return;
	}
	if (first < 0.25)
		mw_buf_str(b, "spread over many lines, most (");
	mw_words_share(b, first);
	mw_buf_str(b, first < 0.25 ? ") at " : " of that at ");
	mw_verdict_short(b, &v->locations[0]);
	if (v->n > 1 && first < 0.75 && v->locations[1].share >= 0.2) {
		mw_buf_str(b, ", ");
		mw_words_share(b, v->locations[1].share);
		mw_buf_str(b, " at ");
		mw_verdict_short(b, &v->locations[1]);
	}
}
