/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words.h - the pieces of a sentence: numbers, names and clauses.
 *
 * Numbers are made from integers: printf's would follow the app's locale.
 */
#ifndef MW_VERDICT_WORDS_H
#define MW_VERDICT_WORDS_H

#include "shared/text/buf.h"

static inline bool mw_known(double x)
{
	return x == x;
}

/* The size of a number of bytes, without its sign: 1.14 MB. */
void mw_words_bytes(struct mw_buf *, double n);
/* Of bytes a second: "1.14 MB a minute", or an hour if it is little. */
void mw_words_rate(struct mw_buf *, double rate);
void mw_words_number(struct mw_buf *, uint64_t n, const char *one, const char *many);
/* Roughly: 40 s, 25 min, 3 h, 2 days. */
void mw_words_duration(struct mw_buf *, double seconds);
/* "91 %", or "all" */
void mw_words_share(struct mw_buf *, double share);

struct mw_verdict;
struct mw_verdict_spread;
/* words_lines.c: "91 % of that at redcarpet.rb:51", or what the lines have in common */
void mw_words_where(struct mw_buf *, const struct mw_verdict *);
/* ", kept by Audit::LOG, an Array"; nothing without a proof */
void mw_words_kept_by(struct mw_buf *, const struct mw_verdict *);
/* ". No proof says what is kept: proofs are off"; nothing if there is one, or may be one */
void mw_words_no_proof(struct mw_buf *, const struct mw_verdict *);

/* "; the line's memory is for POST /orders, 88 % (± 4)"; nothing if that isn't known */
void mw_words_label(struct mw_buf *, const struct mw_verdict *);
/* "; 93 % (± 4) of the objects that stay were made at app.rb:3 (Array, String)"; nothing if no line is known */
void mw_words_made(struct mw_buf *, const struct mw_verdict *);
/* The file, or else the gem, that has half of the growth on several lines; NULL: none has. */
const struct mw_verdict_spread *mw_verdict_most_together(const struct mw_verdict *);
/* "app.rb, on 6 lines" */
void mw_words_in_lines(struct mw_buf *, const struct mw_verdict_spread *);
/* How the sentence names a file, or a gem: its last part. */
void mw_words_spread(struct mw_buf *, const struct mw_verdict_spread *);

struct mw_grower;
/* The sentence, with that location, which grows beside what it tells; NULL: without. */
void mw_words_sentence(struct mw_buf *, const struct mw_verdict *, const struct mw_grower *beside);
/* "Nothing large grows; slowly: app.rb:46, +27.0 KB a minute"; false, and nothing, if it is much. */
bool mw_words_slowly(struct mw_buf *, const struct mw_verdict *, const struct mw_grower *);
/* "; app.rb:46 grows slowly, by 27.0 KB a minute", with `between` before it */
void mw_words_beside(struct mw_buf *, const char *between, const struct mw_verdict *,
		     const struct mw_grower *);

struct mw_reach;
/* " At this rate the container's limit of 512 MB is reached at 14:20 UTC."; nothing if it isn't */
void mw_words_reach(struct mw_buf *, const struct mw_reach *);

#endif
