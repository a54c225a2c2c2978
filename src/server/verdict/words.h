/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words.h - numbers of a sentence. For verdict_words.c and verdict_next.c.
 *
 * They are made from integers: printf's would follow the app's locale.
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
/* words_lines.c: "91 % of that at redcarpet.rb:51", or what the lines have in common */
void mw_words_where(struct mw_buf *, const struct mw_verdict *);
/* ", kept by Audit::LOG, an Array"; nothing without a proof */
void mw_words_kept_by(struct mw_buf *, const struct mw_verdict *);
/* ". No proof says what is kept: proofs are off"; nothing if there is one, or may be one */
void mw_words_no_proof(struct mw_buf *, const struct mw_verdict *);

#endif
