/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * past.c - the top of the home page: the server's sentence, and RSS and live memory over the last
 * 15 minutes. Every browser paints this first. A browser without scripts shows nothing else of the
 * past.
 */
#include <inttypes.h>

#include "pages.h"

enum { SECONDS = 15 * 60, WIDE = 900, HIGH = 80, STEPS = 180 };

struct plot {
	struct mw_history_grid grid;
	uint32_t from, to; /* seconds of uptime */
	uint32_t low, high; /* of RSS, in KiB */
	uint32_t most;      /* of both */
};

static bool is_known(uint32_t kib)
{
	return kib != MW_KIB_UNKNOWN;
}

static void measure(struct plot *p, const struct mw_history *h, double now)
{
	*p = (struct plot){ .grid = mw_history_finest(h, now > SECONDS ? now - SECONDS : 0),
			    .low = MW_KIB_UNKNOWN };
	for (uint32_t i = 0; i < p->grid.n; i++) {
		const struct mw_point *at = mw_history_at(&p->grid, i);

		p->from = i ? p->from : at->t;
		p->to = at->t;
		if (is_known(at->live) && at->live > p->most)
			p->most = at->live;
		if (!is_known(at->rss))
			continue;
		p->low = at->rss < p->low ? at->rss : p->low;
		p->high = at->rss > p->high ? at->rss : p->high;
	}
	p->most = p->high > p->most ? p->high : p->most;
}

/* A line through the first known point of each of STEPS divisions, and the last one. */
static void curve(struct mw_buf *b, const struct plot *p, const char *name, bool live)
{
	uint32_t step = (p->to - p->from) / STEPS + 1, next = p->from;
	bool begun = false;

	mw_buf_fmt(b, "<path class=\"%s\" d=\"", name);
	for (uint32_t i = 0; i < p->grid.n; i++) {
		const struct mw_point *at = mw_history_at(&p->grid, i);
		uint32_t kib = live ? at->live : at->rss;

		if (!is_known(kib) || (at->t < next && i + 1 < p->grid.n))
			continue;
		next = at->t + step;
		mw_buf_fmt(b, "%c%" PRIu32 " %" PRIu32, begun ? 'L' : 'M',
			   (uint32_t)((uint64_t)(at->t - p->from) * WIDE / (p->to - p->from)),
			   HIGH - (uint32_t)((uint64_t)kib * (HIGH - 2) / p->most));
		begun = true;
	}
	mw_buf_str(b, "\"/>");
}

static void amount(struct mw_buf *b, uint32_t kib)
{
	const char *unit = mw_buf_amount(b, (uint64_t)kib << 10, false);

	mw_buf_fmt(b, " %s", unit);
}

static void plot(struct mw_buf *b, const struct plot *p)
{
	mw_buf_fmt(b,
		   "<svg class=\"past\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		   "aria-label=\"RSS and live memory over ",
		   WIDE, HIGH);
	mw_buf_u64(b, (p->to - p->from + 59) / 60);
	mw_buf_str(b, p->to - p->from > 60 ? " minutes; RSS from " : " minute; RSS from ");
	amount(b, p->low);
	mw_buf_str(b, " to ");
	amount(b, p->high);
	mw_buf_str(b, "\">");
	curve(b, p, "rss", false);
	curve(b, p, "live", true);
	mw_buf_str(b, "</svg>\n");
}

void mw_html_past(struct mw_buf *b, void *ctx)
{
	struct mw_site *s = ((const struct mw_call *)ctx)->req->site;
	const struct mw_said *said = s ? mw_site_said(s) : NULL;
	struct plot p;

	if (!said)
		return;
	mw_buf_str(b, said->growing ? "<p class=\"verdict\" data-growing=\"true\">" :
				      "<p class=\"verdict\">");
	mw_buf_html(b, said->sentence.p, said->sentence.n);
	mw_buf_str(b, "</p>\n");
	if (said->next.n) {
		mw_buf_str(b, "<p class=\"next\">");
		mw_buf_html(b, said->next.p, said->next.n);
		mw_buf_str(b, "</p>\n");
	}
	measure(&p, &s->history, mw_site_uptime(s));
	if (p.high && p.to > p.from)
		plot(b, &p);
}
