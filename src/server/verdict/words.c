/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c - see words.h. */
#include "words.h"

#include "verdict.h"

static double size_of(double x)
{
	return x < 0 ? -x : x;
}

/* The size of a number of bytes, without its sign: 1.14 MB. */
void mw_words_bytes(struct mw_buf *b, double n)
{
	const char *unit = mw_buf_amount(b, (uint64_t)(size_of(n) + 0.5), false);

	mw_buf_str(b, " ");
	mw_buf_str(b, unit);
}

/* A minute's growth; an hour's, if that of a minute is less than some pages. */
void mw_words_rate(struct mw_buf *b, double rate)
{
	bool slow = size_of(rate) * 60 < 100 * 1024;

	mw_words_bytes(b, rate * (slow ? 3600 : 60));
	mw_buf_str(b, slow ? " an hour" : " a minute");
}

void mw_words_number(struct mw_buf *b, uint64_t n, const char *one, const char *many)
{
	mw_buf_u64(b, n);
	mw_buf_str(b, n == 1 ? one : many);
}

/* Roughly, for a sentence: 40 s, 25 min, 3 h, 2 days. */
void mw_words_duration(struct mw_buf *b, double seconds)
{
	uint64_t s = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds + 0.5) : 0;

	if (s < 100)
		mw_words_number(b, s, " s", " s");
	else if (s < 100 * 60)
		mw_words_number(b, (s + 30) / 60, " min", " min");
	else if (s < 48 * 3600)
		mw_words_number(b, (s + 1800) / 3600, " h", " h");
	else
		mw_words_number(b, (s + 43200) / 86400, " day", " days");
}

void mw_words_share(struct mw_buf *b, double share)
{
	if (share >= 0.995)
		mw_buf_str(b, "all");
	else
		mw_buf_fmt(b, "%u %%", (unsigned)(share * 100 + 0.5));
}

void mw_verdict_short(struct mw_buf *b, const struct mw_verdict_location *l)
{
	size_t name = l->file_len < l->len ? l->file_len : l->len, from = name;

	if (l->kind == MW_KIND_SPECIAL)
		from = 0;
	while (from && l->location[from - 1] != '/')
		from--;
	mw_buf_tsv(b, l->location + from, l->len - from); /* one line of valid UTF-8 */
}
