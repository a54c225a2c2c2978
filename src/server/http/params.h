/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * params.h - the parameters of a request, and percent-encoding. A reason is appended to a
 * buffer as one line of text without a newline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "shared/report/report.h"

/* The one list of parameters. TOKEN is of the login form only. */
/* clang-format off */
#define MW_PARAMS(X)                                                                      \
	X(SORT, "sort") X(ORDER, "order") X(LIMIT, "limit") X(OFFSET, "offset") X(Q, "q") \
	X(GROUP, "group") X(MIN, "min") X(FORMAT, "format") X(LOCATION, "location")       \
	X(OLDEST, "oldest") X(V, "v") X(TOKEN, "token") X(TO, "to") X(TOP, "top")         \
	X(FROM, "from") X(RANGE, "range") X(POINTS, "points") X(TEXT, "text") X(BY, "by") \
	X(INVERT, "invert") X(RAW, "raw") X(SINCE, "since") X(KIND, "kind") X(BT, "bt")   \
	X(STACKS, "stacks") X(NAME, "name") X(MARK, "mark") X(PATH, "path")               \
	X(SECONDS, "seconds") X(MAX, "max") X(FULL, "full") X(CLOCK, "clock")       \
	X(LABEL, "label") X(FRAMES, "frames") X(STARTUP, "startup") X(LOOK, "look")
/* clang-format on */
#define X(id, name) MW_PARAM_##id,
enum mw_param { MW_PARAMS(X) MW_PARAMS_N };
#undef X

/* Decoded values; s is NULL if not given. Unknown names are left out. */
struct mw_params {
	char *store; /* owned; s points into it */
	struct {
		const char *s;
		size_t n;
	} v[MW_PARAMS_N];
};

/* 0; 400 with a reason; 500: no memory. The last of equal names wins. */
int mw_params_parse(struct mw_params *, const char *query, struct mw_buf *why);
void mw_params_free(struct mw_params *);

/*
 * Calls f with each value of `name`, decoded, n bytes with a NUL behind them, for parameters that may be
 * given several times. False: no memory, or broken percent-encoding with a reason.
 */
bool mw_params_each(const char *query, const char *name,
		    void (*f)(void *ctx, const char *value, size_t n), void *ctx, struct mw_buf *why);

enum mw_form { MW_FORM_HTML, MW_FORM_TSV, MW_FORM_CSV, MW_FORM_JSON };

/* Sets the form named html, tsv, csv or json; false: none of these. */
bool mw_form_find(const char *name, size_t n, enum mw_form *);
/* If s ends in ".tsv" and the like: sets *form and returns the length before it; else n. */
size_t mw_form_suffix(const char *s, size_t n, enum mw_form *);
enum mw_format mw_form_format(enum mw_form);
const char *mw_form_type(enum mw_form); /* Content-Type */
const char *mw_form_name(enum mw_form); /* "tsv" */

/* True: all of s is digits, and the number fits. */
bool mw_parse_u64(const char *s, size_t n, uint64_t *);

/* The query of /each; *q holds the defaults. 0, or 400 with a reason. q->q and q->kind borrow from p. */
int mw_params_query(const struct mw_params *p, struct mw_query *q, struct mw_buf *why);
/* The value of group= for one: "line". */
const char *mw_params_group(enum mw_group);
/* limit= and oldest=, if given. 0, or 400 with a reason. */
int mw_params_part(const struct mw_params *p, uint64_t *limit, uint64_t *oldest, struct mw_buf *why);
/* limit= and offset=, if given. 0, or 400 with a reason. */
int mw_params_slice(const struct mw_params *p, uint64_t *limit, uint64_t *offset, struct mw_buf *why);
/* top=, if given: 0 to max. 0, or 400 with a reason. */
int mw_params_top(const struct mw_params *p, uint64_t max, uint64_t *top, struct mw_buf *why);
/* A span of time in seconds of uptime, and how many points of it are wanted. */
struct mw_span {
	double from, to;
	uint64_t points;
	bool given; /* from, to or range was given */
};
/*
 * from= and to=, or range=15m|1h|6h|24h|all up to now; points=, 2 to max. A value that isn't given stays;
 * a later end than now is now. 0, or 400 with a reason.
 */
int mw_params_span(const struct mw_params *p, double now, uint64_t max, struct mw_span *,
		   struct mw_buf *why);
/* since=reset or since=mark, if given. 0, or 400 with a reason. */
int mw_params_since(const struct mw_params *p, bool *mark, struct mw_buf *why);
/* text=, which must be given: a line of 1 to `max` bytes of UTF-8. 0, or 400 with a reason. */
int mw_params_text(const struct mw_params *p, size_t max, struct mw_buf *why);
/*
 * name=, which must be given: a line of 1 to `max` bytes of UTF-8 that is neither "now" nor "start", nor a
 * number, nor begins or ends with a space. 0, or 400 with a reason.
 */
int mw_params_name(const struct mw_params *p, size_t max, struct mw_buf *why);
/* The seconds of from= or to=. False: not given, or no number: it may be a mark's name. */
bool mw_params_seconds(const struct mw_params *p, enum mw_param, double *seconds);
/* format=, if given. 0, or 400 with a reason. */
int mw_params_form(const struct mw_params *p, enum mw_form *, struct mw_buf *why);
/* The same, but for a page whose path may end in ".tsv" and the like: rest is what is behind the dot. Also 404. */
int mw_params_form_of(const struct mw_params *p, const char *rest, enum mw_form *, struct mw_buf *why);

/*
 * Decodes n bytes of s to out, which has room for n + 1 and may be s; ends it with a NUL.
 * Returns the length, or -1 for a broken escape or a NUL byte.
 */
long mw_percent_decode(const char *s, size_t n, char *out, bool plus_is_space);
/* Encodes every byte but letters, digits and -._~ as %XX: safe in paths, queries, attributes. */
void mw_percent_encode(struct mw_buf *, const char *, size_t);
