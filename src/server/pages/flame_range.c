/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flame_range.h"

#include <string.h>

#include "shared/report/sums.h"

static int refused(struct mw_buf *why, const char *line)
{
	mw_buf_str(why, line);
	return 400;
}

/* Of the sum of all processes, whose rows have the growth already. */
static int of_all(struct mw_flame_range *r, const struct mw_request *req, struct mw_buf *why)
{
	const struct mw_grown_of_all *g = req->grown;

	if (r->peak)
		return refused(why, "from, to: a peak belongs to one process: use /PID/flame");
	if (r->mark)
		return refused(why, "since: a mark belongs to one process: use /PID/flame");
	if (!g)
		return refused(why, "from, to: no process has a history of that time");
	r->from = g->from;
	r->to = g->to;
	r->unix_from = g->unix_from;
	r->unix_to = g->unix_to;
	r->total = g->total;
	return 0;
}

static int since_mark(struct mw_flame_range *r, const struct mw_site *site, struct mw_profile_how *how,
		      struct mw_buf *why)
{
	if (!site->mark.set)
		return refused(why, "since: there is no mark: set one with POST /mark");
	r->from = site->mark.at;
	r->to = mw_site_uptime(site);
	how->to = UINT32_MAX;
	how->set_growth = mw_grown_set_mark;
	how->ctx = &site->mark;
	return 0;
}

static bool set_growth_of_peak(struct mw_snapshot *s, const void *ctx)
{
	const enum mw_flame_peak *peak = ctx;

	for (size_t i = 0; i < s->n; i++) {
		struct mw_row *r = &s->rows[i];

		r->growth = *peak == MW_PEAK_TO ? mw_difference(r->peak_bytes, 0) :
						  mw_difference(r->live_bytes, r->peak_bytes);
	}
	return true;
}

static int of_peak(struct mw_flame_range *r, const struct mw_site *site, struct mw_profile_how *how,
		   struct mw_buf *why)
{
	struct mw_stats stats = { 0 };

	site->api->stats(&stats);
	if (!stats.peak_bytes)
		return refused(why, "from, to: no peak is known yet: the first look comes within a second");
	r->from = r->peak == MW_PEAK_FROM ? stats.peak_uptime : 0;
	r->to = r->peak == MW_PEAK_FROM ? mw_site_uptime(site) : stats.peak_uptime;
	how->to = r->peak == MW_PEAK_FROM ? UINT32_MAX : (uint32_t)r->to + 1;
	how->set_growth = set_growth_of_peak;
	how->ctx = &r->peak;
	return 0;
}

static int in_span(struct mw_flame_range *r, const struct mw_site *site, const struct mw_span *span,
		   struct mw_profile_how *how, struct mw_buf *why)
{
	int rc;

	if (!site->curves.on)
		return refused(why, "from, to: the option history is off: use since=mark");
	rc = mw_grown_read(&r->grown, &site->curves, site->api, span->from, span->to);
	if (rc < 0)
		return 500;
	if (rc)
		return mw_unknown_time(why, site);
	r->from = r->grown.from;
	r->to = r->grown.to;
	how->to = r->grown.to;
	how->set_growth = mw_grown_set;
	how->ctx = &r->grown;
	return 0;
}

/* Of one process. */
static int of_one(struct mw_flame_range *r, const struct mw_site *site, const struct mw_span *span,
		  struct mw_profile_how *how, struct mw_buf *why)
{
	double begun = mw_unix_now() - mw_site_uptime(site);
	int bad = r->mark ? since_mark(r, site, how, why) :
		  r->peak ? of_peak(r, site, how, why) :
			    in_span(r, site, span, how, why);

	how->from = (uint32_t)r->from;
	r->unix_from = begun + r->from;
	r->unix_to = begun + r->to;
	r->total = r->grown.total;
	return bad;
}

static bool says_peak(const struct mw_params *p, enum mw_param param)
{
	return p->v[param].n == 4 && !memcmp(p->v[param].s, "peak", 4);
}

/* from=peak, or to=peak without a from. 0, or a status with a reason. */
static int read_peak(struct mw_flame_range *r, const struct mw_params *p, struct mw_buf *why)
{
	bool from = says_peak(p, MW_PARAM_FROM), to = says_peak(p, MW_PARAM_TO);

	r->peak = from ? MW_PEAK_FROM : to ? MW_PEAK_TO : MW_PEAK_NONE;
	if ((from && p->v[MW_PARAM_TO].n) || (to && p->v[MW_PARAM_FROM].n) ||
	    (r->peak && (p->v[MW_PARAM_RANGE].n || p->v[MW_PARAM_SINCE].n)))
		return refused(
			why,
			"from, to: the peak goes with the start or with now: give one of from=peak and to=peak");
	return 0;
}

int mw_flame_range_make(struct mw_flame_range *r, const struct mw_call *call, const struct mw_params *p,
			struct mw_profile_how *how, struct mw_buf *why)
{
	const struct mw_site *site = call->req->site;
	struct mw_stats stats = { 0 };
	struct mw_span span;
	int bad;

	*r = (struct mw_flame_range){ 0 };
	if (!site) /* the sum has no uptime: the address was checked for that of the process that answers */
		stats.uptime = UINT32_MAX;
	span = (struct mw_span){ .to = site ? mw_site_uptime(site) : stats.uptime, .points = 2 };
	bad = read_peak(r, p, why);
	if (!bad && !r->peak)
		bad = mw_params_span(p, span.to, MW_CURVES_POINTS, &span, why);
	if (!bad && !r->peak)
		bad = mw_params_since(p, &r->mark, why);
	if (bad)
		return bad;
	if (r->mark && span.given)
		return refused(why, "since: from, to or range is given, too: leave one of them out");
	r->is = how->ranged = r->mark || r->peak || span.given;
	if (!r->is)
		return 0;
	return site ? of_one(r, site, &span, how, why) : of_all(r, call->req, why);
}

void mw_flame_range_free(struct mw_flame_range *r)
{
	mw_grown_free(&r->grown);
	*r = (struct mw_flame_range){ 0 };
}

void mw_flame_range_made(struct mw_flame_range *r, const struct mw_profile *p, uint32_t row)
{
	int64_t sum = r->is ? mw_grown_sum(p->snapshot) : 0;

	/* of every location it is known what it had at the mark, or at the peak */
	if (r->mark || r->peak || row != MW_ROW_ALL || __builtin_sub_overflow(r->total, sum, &r->elsewhere))
		r->elsewhere = 0;
	if (r->elsewhere < MW_CURVES_ROUNDING && r->elsewhere > -MW_CURVES_ROUNDING)
		r->elsewhere = 0; /* it may be what rounding took from the others */
	r->shown = row == MW_ROW_ALL ? sum : p->snapshot->rows[row].growth;
	for (size_t i = 0; i < p->n_stacks; i++)
		if (p->stacks[i].growth && (row == MW_ROW_ALL || row == p->stacks[i].row))
			r->samples += p->stacks[i].born_samples;
}

void mw_flame_range_json(struct mw_buf *b, const struct mw_flame_range *r)
{
	if (!r->is)
		return;
	mw_json_open(b, "range", '{');
	mw_json_str(b, "since", r->mark ? "mark" : r->peak == MW_PEAK_FROM ? "peak" : NULL);
	if (r->peak == MW_PEAK_TO)
		mw_json_str(b, "until", "peak");
	mw_json_seconds(b, "from", r->from);
	mw_json_seconds(b, "to", r->to);
	mw_json_seconds(b, "unix_from", r->unix_from);
	mw_json_seconds(b, "unix_to", r->unix_to);
	mw_json_i64(b, "elsewhere", r->elsewhere);
	mw_buf_str(b, "}");
}

/* --- HTML ------------------------------------------------------------------------------ */

static void moment(struct mw_buf *b, double uptime)
{
	if (uptime < 1)
		mw_buf_str(b, "the start");
	else
		mw_html_duration(b, uptime);
}

/* "Live bytes grew by 9.54 MB from 10 s to 1 m 5 s after the start." */
static void range_sentence(struct mw_buf *b, const struct mw_flame_range *r)
{
	uint64_t change = r->shown < 0 ? 0 - (uint64_t)r->shown : (uint64_t)r->shown;

	mw_buf_str(b, r->shown < 0 ? "Live bytes shrank by " : "Live bytes grew by ");
	mw_html_bytes(b, change, false);
	if (r->mark) {
		mw_buf_str(b, " since the mark.");
		return;
	}
	mw_buf_str(b, " from ");
	moment(b, r->from);
	mw_buf_str(b, " to ");
	moment(b, r->to);
	mw_buf_str(b, r->peak == MW_PEAK_TO   ? " of uptime, when live memory was highest." :
		      r->peak == MW_PEAK_FROM ? " of uptime, since live memory was highest." :
						" of uptime.");
}

void mw_flame_range_html(struct mw_buf *b, const struct mw_flame_range *r, const struct mw_call *call,
			 const struct mw_params *p)
{
	range_sentence(b, r);
	if (r->elsewhere) {
		mw_buf_str(b, " Locations that the history doesn\xe2\x80\x99t keep ");
		mw_buf_str(b, r->elsewhere < 0 ? "shrank by " : "grew by ");
		mw_html_bytes(b, r->elsewhere < 0 ? 0 - (uint64_t)r->elsewhere : (uint64_t)r->elsewhere,
			      false);
		mw_buf_str(b, ".");
	}
	mw_buf_str(b, " Callers are estimated from ");
	mw_buf_commas(b, r->samples);
	mw_buf_str(b, r->samples == 1 ?
			      " sample that was taken in that time and still lives. <a href=\"" :
			      " samples that were taken in that time and still live. <a href=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, "/flame?by=growth");
	if (p->v[MW_PARAM_LOCATION].n) {
		mw_buf_str(b, "&amp;location=");
		mw_percent_encode(b, p->v[MW_PARAM_LOCATION].s, p->v[MW_PARAM_LOCATION].n);
	}
	if (p->v[MW_PARAM_INVERT].n)
		mw_buf_str(b, "&amp;invert=1");
	mw_buf_str(b, "\">Since the last reset</a>");
}

void mw_flame_range_fields(struct mw_buf *b, const struct mw_params *p)
{
	static const struct {
		enum mw_param param;
		const char *name;
	} fields[] = { { MW_PARAM_FROM, "from" },
		       { MW_PARAM_TO, "to" },
		       { MW_PARAM_RANGE, "range" },
		       { MW_PARAM_SINCE, "since" } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!p->v[fields[i].param].n)
			continue;
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"%s\" value=\"", fields[i].name);
		mw_buf_html(b, p->v[fields[i].param].s, p->v[fields[i].param].n);
		mw_buf_str(b, "\">\n");
	}
}
