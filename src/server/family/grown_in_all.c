/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grown_in_all.c - /all/flame of a range of time: what grew in it, in all processes. See gather.h.
 *
 * The range is given by the uptime of the process that answers. The others are asked for the same
 * time by the machine's monotonic clock.
 */
#include <string.h>

#include "shared/sys/clock.h"
#include "shared/report/sums.h"
#include "gather.h"

static bool wants_growth(const struct mw_params *p)
{
	return p->v[MW_PARAM_BY].s && !strcmp(p->v[MW_PARAM_BY].s, "growth");
}

static void put_query(struct mw_buf *query, const struct mw_grown_of_all *g, double uptime)
{
	double origin = (double)mw_now_ms() / 1000 - uptime;

	mw_buf_str(query, "from=");
	mw_buf_seconds(query, g->from + origin);
	mw_buf_str(query, "&to=");
	mw_buf_seconds(query, g->to + origin);
}

bool mw_grown_query(const struct mw_request *req, const struct mw_api *api, struct mw_grown_of_all *g,
		    struct mw_buf *query)
{
	struct mw_stats stats = { 0 };
	struct mw_buf why = { 0 };
	struct mw_params p;
	struct mw_span span;
	double begun;
	bool is;

	api->stats(&stats);
	span = (struct mw_span){ .to = stats.uptime, .points = 2 };
	is = !mw_params_parse(&p, req->query, &why) && wants_growth(&p) && !p.v[MW_PARAM_SINCE].n &&
	     !mw_params_span(&p, stats.uptime, MW_CURVES_POINTS, &span, &why) && span.given;
	if (is) {
		begun = mw_unix_now() - stats.uptime;
		*g = (struct mw_grown_of_all){ span.from, span.to, begun + span.from, begun + span.to, 0 };
		put_query(query, g, stats.uptime);
	}
	mw_params_free(&p);
	mw_buf_free(&why);
	return is;
}

bool mw_grown_parts(struct mw_grown_of_all *g, const struct mw_part *p, size_t n)
{
	bool known = false;

	for (size_t i = 0; i < n; i++) {
		known |= p[i].wire->grown;
		g->total = mw_sum_i64(g->total, p[i].wire->grown_total);
	}
	return known;
}
