/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/namespace.h"

#define VERSION "mwrap table 10"

/* The one list of the fields of a row and of a process that travel, in order. */
/* clang-format off */
#define ROW_FIELDS(X)                                                               \
	X(total) X(allocations) X(frees) X(freed) X(life_sum) X(life_max)           \
	X(live_bytes) X(live) X(peak_bytes) X(live_samples) X(live_variance)         \
	X(overruns) X(overrun_size) X(wrong_sizes) X(asked_size) X(given_size)         \
	X(objects) X(object_bytes) X(object_samples) X(object_variance)             \
	X(fork_baseline.total) X(fork_baseline.allocations) X(fork_baseline.frees)  \
	X(fork_baseline.freed) X(fork_baseline.life_sum) X(at)
#define STATS_FIELDS(X)                                                             \
	X(total) X(allocations) X(freed) X(frees) X(live_bytes) X(live)             \
	X(locations) X(locations_max) X(retired) X(generation) X(tracker_bytes)     \
	X(memory_max) X(lost) X(overruns) X(double_frees) X(unknown_frees) X(wrong_sizes) \
	X(heap_bytes) X(resets) X(stacks_rate) X(stacks)                            \
	X(sample_rate) X(live_samples) X(live_error) X(peak_bytes)
/* clang-format on */

/* --- writing ----------------------------------------------------------------- */

static void put_wire_field(struct mw_buf *b, uint64_t v)
{
	mw_buf_u64(b, v);
	mw_buf_str(b, "\t");
}

static void put_process(struct mw_buf *b, const struct mw_stats *s)
{
	put_wire_field(b, (uint64_t)getpid());
	put_wire_field(b, mw_pid_namespace());
	put_wire_field(b, s->ruby_lookup && strcmp(s->ruby_lookup, "none") != 0);
	put_wire_field(b, s->life_unit && !strcmp(s->life_unit, "bytes"));
	put_wire_field(b, (uint64_t)s->forker);
	put_wire_field(b, (uint64_t)s->eldest);
#define X(f) put_wire_field(b, s->f);
	STATS_FIELDS(X)
	MW_WIRE_FLAGS(X)
#undef X
	mw_buf_str(b, "\n");
}

static void put_row(struct mw_buf *b, const struct mw_row *r)
{
	put_wire_field(b, r->kind);
	put_wire_field(b, r->file_len);
#define X(f) put_wire_field(b, r->f);
	ROW_FIELDS(X)
#undef X
	mw_buf_i64(b, r->growth);
	mw_buf_str(b, "\t");
	mw_buf_text(b, r->location, r->location_len);
	mw_buf_str(b, "\n");
}

static int put_all(struct mw_buf *b, const struct mw_api *api)
{
	struct mw_snapshot *s = api->snapshot();

	if (!s)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		put_row(b, &s->rows[i]);
	api->snapshot_free(s);
	return 0;
}

static int put_at(struct mw_buf *b, const struct mw_api *api, const char *location, size_t len)
{
	struct mw_at at = { 0 };
	int ret = mw_at_make(&at, api, location, len);

	if (ret)
		return ret < 0 ? -1 : 0;
	put_row(b, at.row);
	for (size_t i = 0; i < at.lives->n; i++) {
		const struct mw_live *l = &at.lives->v[i];

		mw_buf_str(b, "+"); /* no row begins so */
		put_wire_field(b, l->size);
		put_wire_field(b, mw_live_age(&at, l));
		put_wire_field(b, l->addr);
		mw_buf_str(b, "\n");
	}
	ret = mw_wire_put_stacks_at(b, api, at.row);
	mw_at_free(&at, api);
	return ret;
}

static void put_head(struct mw_buf *b, const struct mw_api *api)
{
	struct mw_stats s;

	api->stats(&s);
	mw_buf_str(b, VERSION "\n");
	put_process(b, &s);
}

int mw_wire_write(struct mw_buf *b, const struct mw_api *api, enum mw_wire_what what,
		  const char *location, size_t len)
{
	int ret = 0;

	put_head(b, api);
	if (what == MW_WIRE_ALL)
		ret = put_all(b, api);
	else if (what == MW_WIRE_AT)
		ret = put_at(b, api, location, len);
	else if (what == MW_WIRE_STACKS)
		ret = mw_wire_put_stacks(b, api, &(struct mw_profile_how){ 0 }, put_row);
	return ret || b->failed ? -1 : 0;
}

int mw_wire_write_grown(struct mw_buf *b, const struct mw_api *api, const struct mw_profile_how *how,
			const int64_t *total)
{
	int ret;

	put_head(b, api);
	ret = mw_wire_put_stacks(b, api, how, put_row);
	if (total) {
		mw_buf_str(b, "~"); /* no row begins so */
		mw_buf_i64(b, *total);
		mw_buf_str(b, "\t\n");
	}
	return ret || b->failed ? -1 : 0;
}

static void put_self(struct mw_buf *b, const struct mw_self *s)
{
	const char *sentence = s->sentence ? s->sentence : "";

	mw_buf_str(b, "!"); /* no row begins so */
	put_wire_field(b, s->rss);
	mw_buf_i64(b, s->rate);
	mw_buf_fmt(b, "\t%s\t", s->kind);
	mw_buf_text(b, sentence, strlen(sentence));
	mw_buf_str(b, "\n");
	for (size_t i = 0; i < s->n; i++) {
		mw_buf_str(b, "*"); /* nor so */
		put_wire_field(b, s->v[i].t);
		put_wire_field(b, s->v[i].rss);
		put_wire_field(b, s->v[i].live);
		mw_buf_str(b, "\n");
	}
}

int mw_wire_write_self(struct mw_buf *b, const struct mw_api *api, const struct mw_self *s)
{
	if (mw_wire_write(b, api, MW_WIRE_SELF, NULL, 0))
		return -1;
	put_self(b, s);
	return b->failed ? -1 : 0;
}

/* --- reading ------------------------------------------------------------------- */

struct reader {
	char *p, *end; /* *end is a NUL */
	bool bad;
};

static bool take_sign(struct reader *r)
{
	bool minus = *r->p == '-';

	r->p += minus;
	return minus;
}

/* Takes a number and its tab: 20 digits at most, and no more than UINT64_MAX. */
static uint64_t take_wire_number(struct reader *r)
{
	uint64_t v = 0;
	bool large = false;
	char *from = r->p;

	for (; *r->p >= '0' && *r->p <= '9'; r->p++)
		large = large || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*r->p - '0'), &v);
	if (large || r->p == from || r->p - from > 20 || *r->p != '\t')
		r->bad = true;
	else
		r->p++;
	return r->bad ? 0 : v;
}

static int64_t take_signed(struct reader *r)
{
	bool minus = take_sign(r);
	uint64_t v = take_wire_number(r);

	if (v > (uint64_t)INT64_MAX + minus)
		r->bad = true;
	return r->bad ? 0 : (int64_t)(minus ? 0 - v : v);
}

static uint32_t take_u32(struct reader *r)
{
	uint64_t v = take_wire_number(r);

	if (v > UINT32_MAX)
		r->bad = true;
	return r->bad ? 0 : (uint32_t)v;
}

static void take_newline(struct reader *r)
{
	if (*r->p == '\n')
		r->p++;
	else
		r->bad = true;
}

static void take_process(struct reader *r, struct mw_wire *w)
{
	struct mw_stats *s = &w->stats;

	w->pid = (long)take_wire_number(r);
	w->ns = take_wire_number(r);
	w->ruby = take_wire_number(r) != 0;
	s->life_unit = take_wire_number(r) ? "bytes" : "gc";
	s->forker = (long)take_wire_number(r);
	s->eldest = (long)take_wire_number(r);
#define X(f) s->f = take_wire_number(r);
	STATS_FIELDS(X)
#undef X
#define X(f) s->f = take_wire_number(r) != 0;
	MW_WIRE_FLAGS(X)
#undef X
	take_newline(r);
}

/* The byte for c behind a backslash; *bad unless mw_buf_text writes that. */
static char unescape(char c, bool *bad)
{
	*bad |= !c || !strchr("tnr\\", c);
	return c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
}

/* Undoes mw_buf_text up to the end of the line, in place, and takes that. Returns its length. */
static size_t take_text(struct reader *r, const char **text)
{
	char *to = r->p;

	*text = to;
	while (r->p < r->end && *r->p != '\n') {
		char c = *r->p++;

		if (!c || c == '\t' || c == '\r') /* no path has a NUL; a tab is a field too many */
			r->bad = true;
		if (c == '\\')
			c = unescape(*r->p++, &r->bad); /* the end is a NUL */
		*to++ = c;
	}
	if (r->p >= r->end)
		r->bad = true;
	else
		r->p++;
	*to = '\0';
	return (size_t)(to - *text);
}

/* Takes a verdict's kind, lower-case letters or nothing, and its tab. */
static void take_kind(struct reader *r, char kind[MW_SELF_KIND])
{
	size_t n = 0;

	while (n < MW_SELF_KIND - 1 && *r->p >= 'a' && *r->p <= 'z')
		kind[n++] = *r->p++;
	kind[n] = '\0';
	if (*r->p == '\t')
		r->p++;
	else
		r->bad = true;
}

static void take_self(struct reader *r, struct mw_self *s)
{
	r->p++;
	s->rss = take_wire_number(r);
	s->rate = take_signed(r);
	take_kind(r, s->kind);
	if (!r->bad && !take_text(r, &s->sentence))
		s->sentence = NULL;
}

static void take_spot(struct reader *r, struct mw_self *s)
{
	struct mw_spot *v = &s->v[s->n];

	if (s->n == MW_SELF_N) {
		r->bad = true;
		return;
	}
	r->p++;
	v->t = take_u32(r);
	v->rss = take_u32(r);
	v->live = take_u32(r);
	if (s->n && v->t <= s->v[s->n - 1].t) /* slopes divide by the time between two points */
		r->bad = true;
	s->n++;
	take_newline(r);
}

static void take_row(struct reader *r, struct mw_row *row)
{
	uint64_t kind = take_wire_number(r), file = take_wire_number(r);

	row->id = MW_ID_NONE;
	row->kind = (enum mw_kind)kind;
	row->file_len = (uint32_t)file;
	if (kind > MW_KIND_SPECIAL || file > UINT32_MAX)
		r->bad = true;
#define X(f) row->f = take_wire_number(r);
	ROW_FIELDS(X)
#undef X
	row->growth = take_signed(r);
	row->location_len = (uint32_t)take_text(r, &row->location);
	if (row->file_len > row->location_len)
		r->bad = true;
}

static void take_live(struct reader *r, struct mw_live *l)
{
	r->p++;
	l->size = take_wire_number(r);
	l->generation = take_wire_number(r);
	l->addr = (uintptr_t)take_wire_number(r);
	l->id = 0;
	take_newline(r);
}

/* Takes a number below n. */
static uint32_t take_index(struct reader *r, size_t n)
{
	uint64_t v = take_wire_number(r);

	if (v >= n || v > UINT32_MAX)
		r->bad = true;
	return r->bad ? 0 : (uint32_t)v;
}

static void take_frame(struct reader *r, struct mw_wire *w)
{
	struct mw_stacked_frame *f = &w->frames[w->frames_n++];
	uint32_t name, file;

	r->p++;
	f->kind = (enum mw_kind)take_index(r, MW_KIND_SPECIAL + 1);
	f->line = take_u32(r);
	name = take_index(r, w->texts_n);
	file = take_index(r, w->texts_n);
	take_newline(r);
	if (!r->bad) {
		f->name = w->texts[name];
		f->file = w->texts[file];
	}
}

/* The frames are the line's remaining fields: make_wire_room() has counted at least as many tabs. */
static void take_stack(struct reader *r, struct mw_wire *w)
{
	struct mw_stacked *s = &w->stacks[w->stacks_n++];

	r->p++;
	s->id = take_index(r, w->n);
	s->bytes = (double)take_wire_number(r);
	s->blocks = (double)take_wire_number(r) / MW_WIRE_BLOCKS;
	s->live_bytes = (double)take_wire_number(r);
	s->live_blocks = (double)take_wire_number(r) / MW_WIRE_BLOCKS;
	s->samples = take_u32(r);
	s->live_samples = take_u32(r);
	s->born_bytes = (double)take_wire_number(r);
	s->born_samples = take_u32(r);
	s->objects = (double)take_wire_number(r);
	s->object_bytes = (double)take_wire_number(r);
	s->object_samples = take_u32(r);
	s->label = take_index(r, w->frames_n + 1);
	s->first = (uint32_t)w->chain_n;
	while (!r->bad && *r->p != '\n') {
		uint32_t frame = take_index(r, w->frames_n);

		if (!r->bad)
			w->chain[w->chain_n++] = frame;
	}
	s->depth = (uint32_t)(w->chain_n - s->first);
	r->bad |= !s->depth && !s->label;
	take_newline(r);
}

/* Moves *s behind the line's end; returns its number of tabs. */
static size_t skip_line(const char **s, const char *end)
{
	const char *from = *s, *nl = memchr(from, '\n', (size_t)(end - from));
	size_t tabs = 0;

	*s = nl ? nl + 1 : end;
	for (const char *p = from; p < *s; p++)
		tabs += *p == '\t';
	return tabs;
}

/* Allocates what is needed for the lines that are left. False: no memory. */
static bool make_wire_room(struct mw_wire *w, const struct reader *r)
{
	size_t rows = 1, lives = 1, texts = 1, frames = 1, stacks = 1, chain = 1;

	for (const char *s = r->p; s < r->end;) {
		char kind = *s;
		size_t tabs = skip_line(&s, r->end);

		lives += kind == '+';
		texts += kind == '=';
		frames += kind == '@';
		stacks += kind == '#';
		chain += kind == '#' ? tabs : 0;
		rows += !kind || !strchr("+=@#!*~", kind);
	}
	w->rows = calloc(rows, sizeof(*w->rows));
	w->lives = calloc(lives, sizeof(*w->lives));
	w->texts = calloc(texts, sizeof(*w->texts));
	w->frames = calloc(frames, sizeof(*w->frames));
	w->stacks = calloc(stacks, sizeof(*w->stacks));
	w->chain = calloc(chain, sizeof(*w->chain));
	return w->rows && w->lives && w->texts && w->frames && w->stacks && w->chain;
}

/* Takes a line; its first byte says what it is. */
static void take_line(struct reader *r, struct mw_wire *w)
{
	switch (*r->p) {
	case '+':
		take_live(r, &w->lives[w->lives_n++]);
		break;
	case '!':
		take_self(r, &w->self);
		break;
	case '*':
		take_spot(r, &w->self);
		break;
	case '~':
		r->p++;
		w->grown = true;
		w->grown_total = take_signed(r);
		take_newline(r);
		break;
	case '=':
		r->p++;
		(void)take_text(r, &w->texts[w->texts_n++]);
		break;
	case '@':
		take_frame(r, w);
		break;
	case '#':
		take_stack(r, w);
		break;
	default:
		take_row(r, &w->rows[w->n++]);
	}
}

int mw_wire_read(struct mw_wire *w, char *text, size_t n)
{
	struct reader r = { .p = text };
	static const char version[] = VERSION "\n";
	char *all = realloc(text, n + 1);

	*w = (struct mw_wire){ .text = all ? all : text };
	if (!all || n < sizeof(version) || memcmp(all, version, sizeof(version) - 1))
		goto bad;
	all[n] = '\0';
	r.p = all + sizeof(version) - 1;
	r.end = all + n;
	take_process(&r, w);
	if (r.bad || !make_wire_room(w, &r))
		goto bad;
	while (r.p < r.end && !r.bad)
		take_line(&r, w);
	if (!r.bad)
		return 0;
bad:
	mw_wire_free(w);
	return -1;
}

void mw_wire_free(struct mw_wire *w)
{
	free(w->rows);
	free(w->lives);
	free(w->texts);
	free(w->frames);
	free(w->stacks);
	free(w->chain);
	free(w->text);
	*w = (struct mw_wire){ 0 };
}
