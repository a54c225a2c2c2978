/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser of locations, and what escapes, groups and encodes them. Input:
 * locations, one a line, of which the first is what is looked for among the others.
 */
#include "../../src/server/http/params.h"
#include "../../src/shared/report/report.h"
#include "fuzz.h"

enum { ROWS = 16 };

static struct mw_row row(enum mw_kind kind, const char *s, size_t n)
{
	const char *end = kind == MW_KIND_RUBY   ? memrchr(s, ':', n) :
			  kind == MW_KIND_NATIVE ? memchr(s, '(', n) :
						   NULL;

	return (struct mw_row){ .kind = kind,
				.total = n * 7 % 5,
				.location = s,
				.location_len = (uint32_t)n,
				.file_len = (uint32_t)(end ? (size_t)(end - s) : n) };
}

static const struct mw_row *find(const struct mw_snapshot *s, const char *text, size_t n)
{
	char *exact = n ? malloc(n) : NULL; /* not even a NUL behind it */
	const struct mw_row *r, *again;

	if (n)
		memcpy(exact, text, n);
	r = mw_location_find(s, exact, n);
	again = mw_location_find(s, exact, n);
	must(r == again && (!r || (r >= s->rows && r < s->rows + s->n)));
	free(exact);
	return r;
}

/* Whatever a page shows of a row leads to one that looks the same. */
static void found_again(const struct mw_snapshot *s, const struct mw_row *r)
{
	static void (*const escapes[])(struct mw_buf *, const char *, size_t) = {
		mw_buf_tsv,
		mw_buf_text,
		mw_buf_utf8,
	};
	const struct mw_row *f = find(s, r->location, r->location_len);
	struct mw_buf b = { 0 };

	must(f && f->location_len == r->location_len && !memcmp(f->location, r->location, r->location_len));
	for (size_t i = 0; i < 3; i++) {
		b.n = 0;
		escapes[i](&b, r->location, r->location_len);
		must(!b.failed && find(s, b.p, b.n));
		must(i == 1 || is_utf8(b.p, b.n));
		must(i == 2 || !b.n ||
		     (!memchr(b.p, '\n', b.n) && !memchr(b.p, '\t', b.n) && !memchr(b.p, '\r', b.n)));
	}
	mw_buf_free(&b);
}

static void encodes(const struct mw_row *r)
{
	struct mw_buf b = { 0 };
	char *back;
	long n;

	mw_percent_encode(&b, r->location, r->location_len);
	for (size_t i = 0; i < b.n; i++)
		must(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%", b.p[i]));
	back = malloc(b.n + 1);
	must(back != NULL);
	n = mw_percent_decode(b.n ? b.p : "", b.n, back, false);
	must(memchr(r->location, '\0', r->location_len) ?
		     n == -1 :
		     n == (long)r->location_len && !memcmp(back, r->location, r->location_len));
	free(back);
	mw_buf_free(&b);
}

static void shows(const struct mw_row *r)
{
	struct mw_buf b = { 0 };

	for (enum mw_group g = MW_GROUP_LINE; g <= MW_GROUP_GEM; g++) {
		b.n = 0;
		mw_group_name(&b, r, g);
		must(!b.failed);
	}
	b.n = 0;
	mw_buf_html(&b, r->location, r->location_len);
	must(is_utf8(b.p, b.n) &&
	     (!b.n || (!memchr(b.p, '<', b.n) && !memchr(b.p, '"', b.n) && !memchr(b.p, '\'', b.n))));
	b.n = 0;
	mw_buf_json(&b, r->location, r->location_len);
	must(is_utf8(b.p, b.n) && b.n >= 2 && b.p[0] == '"' && b.p[b.n - 1] == '"');
	for (size_t i = 1; i + 1 < b.n; i++) {
		must((unsigned char)b.p[i] >= ' ' && b.p[i] != '"');
		if (b.p[i] == '\\')
			must(strchr("\"\\/bfnrtu", b.p[++i]) && i + 1 < b.n);
	}
	b.n = 0;
	mw_buf_csv(&b, r->location, r->location_len);
	must(is_utf8(b.p, b.n));
	mw_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = copy_of(data, size);
	struct mw_row rows[ROWS];
	struct mw_snapshot s = { .rows = rows };
	const char *p = text, *want, *line;
	size_t left = size, want_len = line_of(&p, &left, &want), n;

	while (left && s.n < ROWS) {
		n = line_of(&p, &left, &line);
		if (n) { /* no location is empty */
			rows[s.n] = row((enum mw_kind)(s.n % 3), line, n);
			s.n++;
		}
	}
	(void)find(&s, want, want_len);
	for (size_t i = 0; i < s.n; i++) {
		found_again(&s, &rows[i]);
		encodes(&rows[i]);
		shows(&rows[i]);
	}
	free(text);
	return 0;
}
