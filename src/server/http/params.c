/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "params.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/report/columns.h"

#define X(id, name) name,
static const char *const param_names[] = { MW_PARAMS(X) };
#undef X

static const struct {
	const char *name, *type;
	enum mw_format format;
} forms[] = {
	[MW_FORM_HTML] = { "html", "text/html; charset=utf-8", MW_FORMAT_TEXT },
	[MW_FORM_TSV] = { "tsv", "text/tab-separated-values; charset=utf-8", MW_FORMAT_TSV },
	[MW_FORM_CSV] = { "csv", "text/csv; charset=utf-8; header=present", MW_FORMAT_CSV },
	[MW_FORM_JSON] = { "json", "application/json; charset=utf-8", MW_FORMAT_JSON },
};
#define FORMS_N (sizeof(forms) / sizeof(forms[0]))

enum mw_format mw_form_format(enum mw_form f)
{
	return forms[f].format;
}

const char *mw_form_type(enum mw_form f)
{
	return forms[f].type;
}

const char *mw_form_name(enum mw_form f)
{
	return forms[f].name;
}

static bool text_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

bool mw_form_find(const char *name, size_t n, enum mw_form *form)
{
	for (size_t i = 0; i < FORMS_N; i++) {
		if (text_is(name, n, forms[i].name)) {
			*form = (enum mw_form)i;
			return true;
		}
	}
	return false;
}

size_t mw_form_suffix(const char *s, size_t n, enum mw_form *form)
{
	const char *dot = n ? memrchr(s, '.', n) : NULL;
	enum mw_form f;

	if (!dot || !mw_form_find(dot + 1, (size_t)(s + n - dot - 1), &f) || f == MW_FORM_HTML)
		return n;
	*form = f;
	return (size_t)(dot - s);
}

bool mw_parse_u64(const char *s, size_t n, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return false;
	}
	*out = v;
	return n > 0;
}

/* --- percent-encoding ----------------------------------------------------- */

#define BROKEN "query: broken percent-encoding, or a NUL byte"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

long mw_percent_decode(const char *s, size_t n, char *out, bool plus_is_space)
{
	long len = 0;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (c == '%') {
			int hi = i + 2 < n ? hex(s[i + 1]) : -1;
			int lo = i + 2 < n ? hex(s[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return -1;
			c = (char)(hi << 4 | lo);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if (!c)
			return -1;
		out[len++] = c;
	}
	out[len] = '\0';
	return len;
}

static bool unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

void mw_percent_encode(struct mw_buf *b, const char *s, size_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		char e[3] = { '%', digits[c >> 4], digits[c & 15] };

		if (unreserved(c))
			continue;
		mw_buf_add(b, s + done, i - done);
		mw_buf_add(b, e, sizeof(e));
		done = i + 1;
	}
	if (n > done) /* s may be NULL if n is 0 */
		mw_buf_add(b, s + done, n - done);
}

/* --- parameters ----------------------------------------------------------- */

static int param_of(const char *name, size_t n)
{
	for (int i = 0; i < MW_PARAMS_N; i++)
		if (text_is(name, n, param_names[i]))
			return i;
	return -1;
}

/* Takes one NAME=VALUE of n bytes, decoded in place; may overwrite s[n]. */
static bool take_pair(struct mw_params *p, char *s, size_t n)
{
	char *eq = memchr(s, '=', n), *value = eq ? eq + 1 : s + n;
	long name_n = mw_percent_decode(s, eq ? (size_t)(eq - s) : n, s, true);
	long value_n = eq ? mw_percent_decode(value, (size_t)(s + n - value), value, true) : 0;
	int i;

	if (name_n < 0 || value_n < 0)
		return false;
	i = param_of(s, (size_t)name_n);
	if (i >= 0) {
		p->v[i].s = value;
		p->v[i].n = (size_t)value_n;
	}
	return true;
}

int mw_params_parse(struct mw_params *p, const char *query, struct mw_buf *why)
{
	size_t n = query ? strlen(query) : 0;
	char *s, *end;

	memset(p, 0, sizeof(*p));
	if (!n)
		return 0;
	p->store = malloc(n + 1);
	if (!p->store)
		return 500;
	memcpy(p->store, query, n + 1);
	for (s = p->store; s < p->store + n; s = end + 1) {
		end = s + strcspn(s, "&");
		/* decoding ends the value with a NUL where "&" was */
		if (end > s && !take_pair(p, s, (size_t)(end - s))) {
			mw_buf_str(why, BROKEN);
			return 400;
		}
	}
	return 0;
}

bool mw_params_each(const char *query, const char *name,
		    void (*f)(void *ctx, const char *value, size_t n), void *ctx, struct mw_buf *why)
{
	size_t n = query ? strlen(query) : 0;
	char *store = malloc(n + 1), *end;
	bool ok = store;

	if (!store)
		return false;
	memcpy(store, query ? query : "", n + 1);
	for (char *s = store; ok && s < store + n; s = end + 1) {
		char *eq;
		long value_n;

		end = s + strcspn(s, "&");
		eq = memchr(s, '=', (size_t)(end - s));
		if (!eq || !text_is(s, (size_t)(eq - s), name))
			continue;
		value_n = mw_percent_decode(eq + 1, (size_t)(end - eq - 1), eq + 1, true);
		ok = value_n >= 0;
		if (ok)
			f(ctx, eq + 1, (size_t)value_n);
		else
			mw_buf_str(why, BROKEN);
	}
	free(store);
	return ok;
}

void mw_params_free(struct mw_params *p)
{
	free(p->store);
	memset(p, 0, sizeof(*p));
}

/* NAME: EXPECTED expected, not "VALUE" */
static int bad(const struct mw_params *p, enum mw_param i, const char *expected, struct mw_buf *why)
{
	size_t n = p->v[i].n;

	mw_buf_str(why, param_names[i]);
	mw_buf_str(why, ": ");
	mw_buf_str(why, expected);
	mw_buf_str(why, " expected, not \"");
	mw_buf_tsv(why, p->v[i].s, n < 64 ? n : 64);
	mw_buf_str(why, n < 64 ? "\"" : "...\"");
	return 400;
}

/* A form's empty field counts as not given. */
static bool given(const struct mw_params *p, enum mw_param i)
{
	return p->v[i].s && p->v[i].n;
}

static int take_number(const struct mw_params *p, enum mw_param i, uint64_t *out, struct mw_buf *why)
{
	if (given(p, i) && !mw_parse_u64(p->v[i].s, p->v[i].n, out))
		return bad(p, i, "a whole number", why);
	return 0;
}

static int take_sort(const struct mw_params *p, struct mw_query *q, struct mw_buf *why)
{
	const struct mw_table each = { .columns = mw_columns, .n = MW_COLUMNS_N, .sort = MW_COLUMN_DEFAULT };
	const struct mw_table *t = q->table ? q->table : &each;
	const char *s = p->v[MW_PARAM_SORT].s;
	size_t n = p->v[MW_PARAM_SORT].n;
	struct mw_buf names = { 0 };
	int ret = 0;

	if (!given(p, MW_PARAM_SORT))
		return 0;
	q->sort = q->table ? mw_table_find(t, s, n) : mw_column_find(s, n);
	if (q->sort < 0) {
		for (int i = 0; i < t->n; i++) {
			mw_buf_str(&names, i ? ", " : "one of ");
			mw_buf_str(&names, t->columns[i].name);
		}
		mw_buf_add(&names, "", 1);
		ret = bad(p, MW_PARAM_SORT, names.failed ? "a column" : names.p, why);
		mw_buf_free(&names);
	}
	return ret;
}

static int take_order(const struct mw_params *p, struct mw_query *q, struct mw_buf *why)
{
	const char *s = p->v[MW_PARAM_ORDER].s;
	size_t n = p->v[MW_PARAM_ORDER].n;

	if (!given(p, MW_PARAM_ORDER))
		return 0;
	q->order = text_is(s, n, "asc") ? 1 : text_is(s, n, "desc") ? -1 : 0;
	return q->order ? 0 : bad(p, MW_PARAM_ORDER, "asc or desc", why);
}

static const char *const group_names[] = {
	[MW_GROUP_LINE] = "line", [MW_GROUP_FILE] = "file", [MW_GROUP_DIR] = "dir", [MW_GROUP_GEM] = "gem", [MW_GROUP_KIND] = "kind"
};

const char *mw_params_group(enum mw_group g)
{
	return group_names[g];
}

static int take_group(const struct mw_params *p, struct mw_query *q, struct mw_buf *why)
{
	const char *s = p->v[MW_PARAM_GROUP].s;
	size_t n = p->v[MW_PARAM_GROUP].n;

	if (!given(p, MW_PARAM_GROUP))
		return 0;
	for (int g = MW_GROUP_LINE; g <= MW_GROUP_KIND; g++) {
		if (!text_is(s, n, group_names[g]))
			continue;
		q->group = (enum mw_group)g;
		return 0;
	}
	return bad(p, MW_PARAM_GROUP, "line, file, dir, gem or kind", why);
}

int mw_params_part(const struct mw_params *p, uint64_t *limit, uint64_t *oldest, struct mw_buf *why)
{
	int bad_one = take_number(p, MW_PARAM_LIMIT, limit, why);

	return bad_one ? bad_one : take_number(p, MW_PARAM_OLDEST, oldest, why);
}

int mw_params_slice(const struct mw_params *p, uint64_t *limit, uint64_t *offset, struct mw_buf *why)
{
	int bad_one = take_number(p, MW_PARAM_LIMIT, limit, why);

	return bad_one ? bad_one : take_number(p, MW_PARAM_OFFSET, offset, why);
}

int mw_params_top(const struct mw_params *p, uint64_t max, uint64_t *top, struct mw_buf *why)
{
	int bad_one = take_number(p, MW_PARAM_TOP, top, why);

	if (bad_one || *top <= max)
		return bad_one;
	mw_buf_fmt(why, "top: %" PRIu64 " at most", max);
	return 400;
}

/* "4711" or "4711.25" */
static bool parse_seconds(const char *s, size_t n, double *to)
{
	const char *dot = memchr(s, '.', n);
	size_t whole = dot ? (size_t)(dot - s) : n;
	uint64_t seconds, part = 0;
	double scale = 1;

	if (!mw_parse_u64(s, whole, &seconds) || seconds > UINT32_MAX || n - whole > 10 ||
	    (dot && !mw_parse_u64(dot + 1, n - whole - 1, &part)))
		return false;
	for (size_t k = whole + 1; k < n; k++)
		scale *= 10;
	*to = (double)seconds + (double)part / scale;
	return true;
}

bool mw_params_seconds(const struct mw_params *p, enum mw_param i, double *seconds)
{
	return given(p, i) && parse_seconds(p->v[i].s, p->v[i].n, seconds);
}

static int take_seconds(const struct mw_params *p, enum mw_param i, struct mw_span *span, double *to,
			struct mw_buf *why)
{
	if (!given(p, i))
		return 0;
	if (!parse_seconds(p->v[i].s, p->v[i].n, to))
		return bad(p, i, "seconds of uptime", why);
	span->given = true;
	return 0;
}

static int take_range(const struct mw_params *p, double now, struct mw_span *span, struct mw_buf *why)
{
	static const struct {
		const char *name;
		double seconds;
	} ranges[] = { { "15m", 900 }, { "1h", 3600 }, { "6h", 21600 }, { "24h", 86400 }, { "all", 1e15 } };

	if (!given(p, MW_PARAM_RANGE))
		return 0;
	if (span->given) {
		mw_buf_str(why, "range: from or to is given, too: leave one of them out");
		return 400;
	}
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (!text_is(p->v[MW_PARAM_RANGE].s, p->v[MW_PARAM_RANGE].n, ranges[i].name))
			continue;
		span->from = now > ranges[i].seconds ? now - ranges[i].seconds : 0;
		span->to = now;
		span->given = true;
		return 0;
	}
	return bad(p, MW_PARAM_RANGE, "15m, 1h, 6h, 24h or all", why);
}

int mw_params_span(const struct mw_params *p, double now, uint64_t max, struct mw_span *span,
		   struct mw_buf *why)
{
	int bad_one = take_seconds(p, MW_PARAM_FROM, span, &span->from, why);

	if (!bad_one)
		bad_one = take_seconds(p, MW_PARAM_TO, span, &span->to, why);
	if (!bad_one)
		bad_one = take_range(p, now, span, why);
	if (!bad_one)
		bad_one = take_number(p, MW_PARAM_POINTS, &span->points, why);
	if (bad_one)
		return bad_one;
	if (span->points < 2 || span->points > max) {
		mw_buf_fmt(why, "points: 2 to %" PRIu64, max);
		return 400;
	}
	if (span->to > now)
		span->to = now;
	if (span->from > span->to) {
		mw_buf_str(why, "from: must not be later than to or now");
		return 400;
	}
	return 0;
}

int mw_params_since(const struct mw_params *p, bool *mark, struct mw_buf *why)
{
	const char *s = p->v[MW_PARAM_SINCE].s;
	size_t n = p->v[MW_PARAM_SINCE].n;

	*mark = given(p, MW_PARAM_SINCE) && text_is(s, n, "mark");
	if (!given(p, MW_PARAM_SINCE) || *mark || text_is(s, n, "reset"))
		return 0;
	return bad(p, MW_PARAM_SINCE, "reset or mark", why);
}

/* Without control characters, and valid UTF-8. */
static bool is_line(const char *s, size_t n)
{
	struct mw_buf valid = { 0 };
	bool is_one;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 127)
			return false;
	mw_buf_utf8(&valid, s, n);
	is_one = !valid.failed && valid.n == n && !memcmp(valid.p, s, n);
	mw_buf_free(&valid);
	return is_one;
}

int mw_params_text(const struct mw_params *p, size_t max, struct mw_buf *why)
{
	if (given(p, MW_PARAM_TEXT) && p->v[MW_PARAM_TEXT].n <= max &&
	    is_line(p->v[MW_PARAM_TEXT].s, p->v[MW_PARAM_TEXT].n))
		return 0;
	mw_buf_fmt(why, "text: a line of 1 to %zu bytes of UTF-8 expected, as in /annotate?text=deploy-17",
		   max);
	return 400;
}

int mw_params_name(const struct mw_params *p, size_t max, struct mw_buf *why)
{
	const char *s = p->v[MW_PARAM_NAME].s;
	size_t n = p->v[MW_PARAM_NAME].n;

	if (!given(p, MW_PARAM_NAME) || n > max || !is_line(s, n) || s[0] == ' ' || s[n - 1] == ' ')
		mw_buf_fmt(why,
			   "name: a line of 1 to %zu bytes of UTF-8, without a space at its ends, expected, as in /mark?name=deploy-17",
			   max);
	else if (text_is(s, n, "now") || text_is(s, n, "start") || text_is(s, n, "peak"))
		mw_buf_str(why, "name: start, peak and now are moments of their own: choose another name");
	else if (strspn(s, "0123456789.") == n)
		mw_buf_str(why, "name: a number is a time, seconds of uptime: choose another name");
	else
		return 0;
	return 400;
}

int mw_params_query(const struct mw_params *p, struct mw_query *q, struct mw_buf *why)
{
	int bad_one = take_sort(p, q, why);

	if (!bad_one)
		bad_one = take_order(p, q, why);
	if (!bad_one)
		bad_one = take_group(p, q, why);
	if (!bad_one)
		bad_one = take_number(p, MW_PARAM_LIMIT, &q->limit, why);
	if (!bad_one)
		bad_one = take_number(p, MW_PARAM_OFFSET, &q->offset, why);
	if (!bad_one)
		bad_one = take_number(p, MW_PARAM_MIN, &q->min, why);
	q->q = p->v[MW_PARAM_Q].s;
	q->q_len = p->v[MW_PARAM_Q].n;
	q->kind = p->v[MW_PARAM_KIND].s;
	q->kind_len = p->v[MW_PARAM_KIND].n;
	return bad_one;
}

int mw_params_form(const struct mw_params *p, enum mw_form *form, struct mw_buf *why)
{
	if (given(p, MW_PARAM_FORMAT) &&
	    !mw_form_find(p->v[MW_PARAM_FORMAT].s, p->v[MW_PARAM_FORMAT].n, form))
		return bad(p, MW_PARAM_FORMAT, "html, tsv, csv or json", why);
	return 0;
}

int mw_params_form_of(const struct mw_params *p, const char *rest, enum mw_form *form, struct mw_buf *why)
{
	int status = mw_params_form(p, form, why);

	if (status || !*rest || mw_form_find(rest, strlen(rest), form))
		return status;
	mw_buf_str(why, "no such page");
	return 404;
}
