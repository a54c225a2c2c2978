/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - the rings of points. See history.h. */
#include "history.h"

struct ring {
	const struct mw_point *points;
	uint32_t size, n; /* n: ever added */
	uint32_t step;
};

uint32_t mw_kib(uint64_t bytes)
{
	uint64_t kib = bytes / 1024 + (bytes % 1024 >= 512);

	return kib < MW_KIB_UNKNOWN ? (uint32_t)kib : MW_KIB_UNKNOWN - 1;
}

void mw_history_add(struct mw_history *h, struct mw_point p)
{
	const struct mw_point *last = h->fine_n ? &h->fine[(h->fine_n - 1) % MW_FINE_N] : NULL;
	const struct mw_point *minute = h->coarse_n ? &h->coarse[(h->coarse_n - 1) % MW_COARSE_N] : NULL;

	if (last && p.t <= last->t)
		return;
	h->fine[h->fine_n++ % MW_FINE_N] = p;
	if (!minute || p.t / MW_COARSE_STEP > minute->t / MW_COARSE_STEP)
		h->coarse[h->coarse_n++ % MW_COARSE_N] = p;
}

void mw_history_mark(struct mw_history *h, double uptime)
{
	h->marks[h->marks_n++ % MW_MARKS_N] = uptime;
}

/* --- JSON ----------------------------------------------------------------------- */

static void column(struct mw_buf *b, const struct ring *r, uint32_t first, const char *name,
		   uint32_t (*get)(const struct mw_point *), uint64_t unit)
{
	mw_buf_str(b, ",\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":[");
	for (uint32_t i = first; i != r->n; i++) {
		uint32_t v = get(&r->points[i % r->size]);

		if (i != first)
			mw_buf_str(b, ",");
		if (v == MW_KIB_UNKNOWN && unit > 1)
			mw_buf_str(b, "null");
		else
			mw_buf_u64(b, v * unit);
	}
	mw_buf_str(b, "]");
}

static uint32_t get_t(const struct mw_point *p)
{
	return p->t;
}

static uint32_t get_rss(const struct mw_point *p)
{
	return p->rss;
}

static uint32_t get_live(const struct mw_point *p)
{
	return p->live;
}

static uint32_t get_heap(const struct mw_point *p)
{
	return p->heap;
}

static void ring(struct mw_buf *b, const char *name, const struct ring *r, double now)
{
	uint32_t first = r->n > r->size ? r->n - r->size : 0;
	double oldest = now - (double)r->step * r->size;

	while (first != r->n && r->points[first % r->size].t < oldest)
		first++;
	mw_buf_str(b, ",\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":{\"step\":");
	mw_buf_u64(b, r->step);
	column(b, r, first, "t", get_t, 1);
	column(b, r, first, "rss", get_rss, 1024);
	column(b, r, first, "live", get_live, 1024);
	column(b, r, first, "heap", get_heap, 1024);
	mw_buf_str(b, "}");
}

void mw_history_render(struct mw_buf *b, const struct mw_history *h, double now, double unix_now)
{
	const struct ring fine = { h->fine, MW_FINE_N, h->fine_n, 1 };
	const struct ring coarse = { h->coarse, MW_COARSE_N, h->coarse_n, MW_COARSE_STEP };
	uint32_t first = h->marks_n > MW_MARKS_N ? h->marks_n - MW_MARKS_N : 0;

	mw_buf_str(b, "{\"now\":");
	mw_buf_seconds(b, now);
	mw_buf_str(b, ",\"unix\":");
	mw_buf_seconds(b, unix_now);
	ring(b, "fine", &fine, now);
	ring(b, "coarse", &coarse, now);
	mw_buf_str(b, ",\n\"marks\":[");
	for (uint32_t i = first; i != h->marks_n; i++) {
		mw_buf_str(b, i == first ? "" : ",");
		mw_buf_seconds(b, h->marks[i % MW_MARKS_N]);
	}
	mw_buf_str(b, "]}\n");
}
