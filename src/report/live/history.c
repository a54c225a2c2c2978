/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - the rings of points. See history.h. */
#include "history.h"

#include <string.h>

struct ring {
	const struct mw_point *points;
	uint32_t size, n; /* n: ever added */
	uint32_t step;
	double oldest; /* uptime; earlier points are left out */
};

uint32_t mw_kib(uint64_t bytes)
{
	uint64_t kib = bytes / 1024 + (bytes % 1024 >= 512);

	return kib < MW_KIB_UNKNOWN ? (uint32_t)kib : MW_KIB_UNKNOWN - 1;
}

const struct mw_point *mw_history_last(const struct mw_history *h)
{
	return h->fine_n ? &h->fine[(h->fine_n - 1) % MW_FINE_N] : NULL;
}

/* Doubles the step until there is room: one point stays of each longer step, the first. */
static void thin_whole(struct mw_history *h)
{
	while (h->long_n == MW_LONG_N) {
		uint32_t n = 0;

		h->long_step *= 2;
		for (uint32_t i = 0; i < MW_LONG_N; i++)
			if (!n || h->whole[i].t / h->long_step > h->whole[n - 1].t / h->long_step)
				h->whole[n++] = h->whole[i];
		h->long_n = n;
	}
}

static bool whole_lacks(const struct mw_history *h, uint32_t t)
{
	return !h->long_n || t / h->long_step > h->whole[h->long_n - 1].t / h->long_step;
}

static void add_whole(struct mw_history *h, struct mw_point p)
{
	if (!h->long_step)
		h->long_step = MW_LONG_STEP;
	if (!whole_lacks(h, p.t))
		return;
	thin_whole(h);
	if (whole_lacks(h, p.t)) /* the step may be longer now */
		h->whole[h->long_n++] = p;
}

void mw_history_add(struct mw_history *h, struct mw_point p)
{
	const struct mw_point *last = mw_history_last(h);
	const struct mw_point *minute = h->coarse_n ? &h->coarse[(h->coarse_n - 1) % MW_COARSE_N] : NULL;

	if (last && p.t <= last->t)
		return;
	h->fine[h->fine_n++ % MW_FINE_N] = p;
	if (!minute || p.t / MW_COARSE_STEP > minute->t / MW_COARSE_STEP)
		h->coarse[h->coarse_n++ % MW_COARSE_N] = p;
	add_whole(h, p);
}

void mw_history_mark(struct mw_history *h, double uptime)
{
	h->marks[h->marks_n++ % MW_MARKS_N] = uptime;
}

void mw_history_event(struct mw_history *h, double uptime, const char *kind, const char *text)
{
	struct mw_event *e = &h->events[h->events_n++ % MW_EVENTS_N];
	size_t n = text ? strlen(text) : 0;

	if (n > MW_EVENT_TEXT)
		for (n = MW_EVENT_TEXT; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
			n--;
	memset(e, 0, sizeof(*e));
	e->t = uptime;
	strncpy(e->kind, kind, sizeof(e->kind) - 1);
	if (n)
		memcpy(e->text, text, n);
}

/* --- JSON ----------------------------------------------------------------------- */

/* A column by its place in a point: whole seconds, else KiB. */
static void column(struct mw_buf *b, const struct ring *r, uint32_t first, const char *name, size_t at)
{
	bool time = at == offsetof(struct mw_point, t);

	mw_buf_str(b, ",\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":[");
	for (uint32_t i = first; i != r->n; i++) {
		uint32_t v;

		memcpy(&v, (const char *)&r->points[i % r->size] + at, sizeof(v));
		if (i != first)
			mw_buf_str(b, ",");
		if (v == MW_KIB_UNKNOWN && !time)
			mw_buf_str(b, "null");
		else
			mw_buf_u64(b, time ? v : (uint64_t)v * 1024);
	}
	mw_buf_str(b, "]");
}

static void ring(struct mw_buf *b, const char *name, const struct ring *r)
{
#define COLUMN(name) { #name, offsetof(struct mw_point, name) }
	static const struct {
		const char *name;
		size_t at;
	} columns[] = { COLUMN(t),       COLUMN(rss),  COLUMN(live), COLUMN(heap),  COLUMN(files),
			COLUMN(tracker), COLUMN(free), COLUMN(anon), COLUMN(stacks) };
#undef COLUMN
	uint32_t first = r->n > r->size ? r->n - r->size : 0;

	while (first != r->n && r->points[first % r->size].t < r->oldest)
		first++;
	mw_buf_str(b, ",\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":{\"step\":");
	mw_buf_u64(b, r->step);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		column(b, r, first, columns[i].name, columns[i].at);
	mw_buf_str(b, "}");
}

static void event(struct mw_buf *b, const struct mw_event *e)
{
	mw_buf_str(b, "{\"t\":");
	mw_buf_seconds(b, e->t);
	mw_buf_str(b, ",\"kind\":");
	mw_buf_json(b, e->kind, strlen(e->kind));
	mw_buf_str(b, ",\"text\":");
	mw_buf_json(b, e->text, strlen(e->text));
	mw_buf_str(b, "}");
}

void mw_history_render(struct mw_buf *b, const struct mw_history *h, double now, double unix_now)
{
	const struct ring fine = { h->fine, MW_FINE_N, h->fine_n, 1, now - MW_FINE_N };
	const struct ring coarse = { h->coarse, MW_COARSE_N, h->coarse_n, MW_COARSE_STEP,
				     now - MW_COARSE_STEP * MW_COARSE_N };
	const struct ring whole = { h->whole, MW_LONG_N, h->long_n,
				    h->long_step ? h->long_step : (uint32_t)MW_LONG_STEP, 0 };
	uint32_t first = h->marks_n > MW_MARKS_N ? h->marks_n - MW_MARKS_N : 0;

	mw_buf_str(b, "{\"now\":");
	mw_buf_seconds(b, now);
	mw_buf_str(b, ",\"unix\":");
	mw_buf_seconds(b, unix_now);
	ring(b, "fine", &fine);
	ring(b, "coarse", &coarse);
	ring(b, "long", &whole);
	mw_buf_str(b, ",\n\"marks\":[");
	for (uint32_t i = first; i != h->marks_n; i++) {
		mw_buf_str(b, i == first ? "" : ",");
		mw_buf_seconds(b, h->marks[i % MW_MARKS_N]);
	}
	mw_buf_str(b, "],\n\"events\":[");
	first = h->events_n > MW_EVENTS_N ? h->events_n - MW_EVENTS_N : 0;
	for (uint32_t i = first; i != h->events_n; i++) {
		mw_buf_str(b, i == first ? "" : ",\n");
		event(b, &h->events[i % MW_EVENTS_N]);
	}
	mw_buf_str(b, "]}\n");
}
