/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words_lines.c - where a growth is, and what keeps it, in words. See words.h. */
#include <string.h>

#include "shared/sys/root.h"
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

void mw_words_spread(struct mw_buf *b, const struct mw_verdict_spread *of)
{
	const struct mw_verdict_location as = { of->name, of->len, of->len, MW_KIND_RUBY, 0, 0 };

	mw_verdict_short(b, &as);
}

/* The file, or else the gem, that has half of it on several lines. */
const struct mw_verdict_spread *mw_verdict_most_together(const struct mw_verdict *v)
{
	const struct mw_verdict_spread *all[] = { &v->file, &v->gem };

	for (size_t i = 0; i < 2; i++)
		if (all[i]->lines > 1 && all[i]->share >= 0.5)
			return all[i];
	return NULL;
}

/* "app.rb, on 6 lines" */
void mw_words_in_lines(struct mw_buf *b, const struct mw_verdict_spread *of)
{
	mw_words_spread(b, of);
	mw_buf_str(b, ", on ");
	mw_words_number(b, of->lines, " line", " lines");
}

/* "98 % of that in app.rb, on 6 lines, most at app.rb:12"; false: no file and no gem has half of it. */
static bool together(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_spread *of = mw_verdict_most_together(v);
	const struct mw_verdict_location *most;

	if (!of)
		return false;
	mw_words_share(b, of->share);
	mw_buf_str(b, of == &v->gem ? " of that in the gem " : " of that in ");
	mw_words_in_lines(b, of);
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

/* --- who made the objects --------------------------------------------------------------------- */

void mw_words_made(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_made *m = &v->made;
	unsigned error = (unsigned)(m->error * 100 + 0.5);

	if (!m->samples || !m->at.location)
		return;
	mw_buf_str(b, "; ");
	if (error)
		mw_buf_fmt(b, "%u %% (\xc2\xb1 %u)", (unsigned)(m->at.share * 100 + 0.5), error);
	else
		mw_words_share(b, m->at.share);
	mw_buf_str(b, " of the objects that stay were made at ");
	mw_verdict_short(b, &m->at);
	for (size_t i = 0; i < 2 && m->classes[i]; i++) {
		mw_buf_str(b, i ? ", " : " (");
		mw_buf_str(b, m->classes[i]);
	}
	mw_buf_str(b, m->classes[0] ? ")" : "");
	if (m->owner) {
		mw_buf_str(b, ", kept by ");
		mw_buf_tsv(b, m->owner, strlen(m->owner));
	}
}

/* --- labels ------------------------------------------------------------------------------------ */

void mw_verdict_label(struct mw_verdict *v, const char *name, double share, uint32_t samples)
{
	/* as if two more samples had it, and two hadn't: else none without it would leave no error */
	double n = samples, p = (share * n + 2) / (n + 4), error = 2 * mw_root(p * (1 - p) / (n + 4));

	v->label = (struct mw_verdict_label){ 0 };
	if (samples >= MW_LABEL_SAMPLES && share - error > 0.5)
		v->label = (struct mw_verdict_label){ name, share, error, samples };
}

void mw_words_label(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_label *l = &v->label;

	if (!l->name)
		return;
	mw_buf_str(b, "; the line's memory is for ");
	mw_buf_tsv(b, l->name, strlen(l->name));
	mw_buf_str(b, ", ");
	mw_words_share(b, l->share);
	mw_buf_fmt(b, " (\xc2\xb1 %u)", (unsigned)(l->error * 100 + 0.5));
}

/* --- what grows beside all that is told ------------------------------------------------------ */

const struct mw_grower *mw_verdict_beside(const struct mw_verdict *v)
{
	bool rests = v->kind == MW_VERDICT_FLAT || v->kind == MW_VERDICT_SAWTOOTH ||
		     v->kind == MW_VERDICT_SPIKE;

	return rests && v->growers_n ? &v->growers[0] : NULL;
}

/* By less than a hundredth of RSS, or 1 MB, in a quarter of an hour? */
bool mw_verdict_is_slow(const struct mw_verdict *v, const struct mw_grower *g)
{
	double rss = v->now[MW_PART_RSS], least = 1 << 20;

	return g->rate * 900 < (rss / 100 > least ? rss / 100 : least);
}

/* A minute's, as a table has it; an hour's, if that is less than 1 KB. */
static void slow_rate(struct mw_buf *b, double rate)
{
	bool slow = rate * 60 < 1024;

	mw_words_bytes(b, rate * (slow ? 3600 : 60));
	mw_buf_str(b, slow ? " an hour" : " a minute");
}

bool mw_words_slowly(struct mw_buf *b, const struct mw_verdict *v, const struct mw_grower *g)
{
	if (!mw_verdict_is_slow(v, g))
		return false;
	mw_buf_str(b, "Nothing large grows; slowly: ");
	mw_verdict_short(b, &g->at);
	mw_buf_str(b, ", +");
	slow_rate(b, g->rate);
	return true;
}

void mw_words_beside(struct mw_buf *b, const char *between, const struct mw_verdict *v,
		     const struct mw_grower *g)
{
	mw_buf_str(b, between);
	mw_verdict_short(b, &g->at);
	mw_buf_str(b, mw_verdict_is_slow(v, g) ? " grows slowly, by " : " grows by ");
	slow_rate(b, g->rate);
}
