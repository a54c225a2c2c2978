/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.c - /metrics, for Prometheus: OpenMetrics if Accept names it, else
 * Prometheus's own text form.
 */
#include <string.h>

#include "server/objects/objects.h"
#include "server/report/metrics.h"
#include "pages.h"

static const char open_type[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
static const char text_type[] = "text/plain; version=0.0.4; charset=utf-8";

static enum mw_metrics_form wanted(const struct mw_request *req)
{
	const char *accept = req->header ? req->header(req->ctx, "Accept") : NULL;

	return accept && strcasestr(accept, "application/openmetrics-text") ?
		       MW_METRICS_OPENMETRICS :
		       MW_METRICS_PROMETHEUS;
}

/* The sentence, unless nobody keeps a history here. */
static void take_kept(struct mw_metrics *m, struct mw_metrics_verdict *v, struct mw_site *site)
{
	const struct mw_said *said = site ? mw_site_said(site) : NULL;

	if (site) {
		m->limits = &site->limits;
		m->own_cpu = mw_own_cost_percent(&site->own_cost) / 100;
	}
	if (!said)
		return;
	*v = (struct mw_metrics_verdict){ .kind = mw_verdict_name(said->kind),
					  .growing = said->growing,
					  .location = said->label.n ? said->label.p : "",
					  .reached = said->reach.of ? said->reach.soonest : -1 };
	m->verdict = v;
}

void mw_page_metrics(struct mw_call *call)
{
	enum mw_metrics_form form = wanted(call->req);
	uint64_t top = MW_METRICS_TOP;
	struct mw_objects_state objects;
	struct mw_metrics m;
	struct mw_metrics_verdict verdict;
	int bad = mw_params_top(&call->params, MW_METRICS_TOP_MAX, &top, &call->why);

	mw_objects_state(call->api, &objects);
	/* the site's descriptor: one opened here would leak into a child forked meanwhile */
	if (!bad && mw_metrics_take(&m, call->api, call->req->site ? call->req->site->statm : -1, top,
				    !strcmp(objects.is, "on")))
		bad = 500;
	if (mw_refused(call, bad))
		return;
	take_kept(&m, &verdict, call->req->site);
	call->res->status = 200;
	call->res->content_type = form == MW_METRICS_OPENMETRICS ? open_type : text_type;
	mw_metrics_render(&call->res->body, &m, form);
	mw_metrics_free(&m);
}
