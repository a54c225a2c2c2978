/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_label.c - which endpoint or job the memory of the line is for that a verdict accuses. See site.h.
 *
 * It is that of the line's live bytes, estimated from the samples that still live. A profile of one line costs a snapshot
 * and a copy of the stacks, so what was found holds for AGAIN_SECONDS.
 */
#include <stdlib.h>
#include <string.h>

#include "pages.h"
#include "shared/report/label_rows.h"
#include "site.h"

enum { AGAIN_SECONDS = 30 };

/* The label with most bytes; of all, the samples. */
static void take_most(struct mw_line_label *l, const struct mw_profile *p)
{
	size_t n;
	struct mw_row *rows = mw_labels_make(p, &n);
	double all = 0;

	for (size_t i = 0; rows && i < n; i++)
		all += (double)rows[i].live_bytes;
	/* that of no label is the last one */
	if (rows && n && all > 0 && strcmp(rows[0].location, MW_NO_LABEL) != 0 &&
	    rows[0].location_len < sizeof(l->name)) {
		memcpy(l->name, rows[0].location, rows[0].location_len);
		l->name[rows[0].location_len] = '\0';
		l->share = (double)rows[0].live_bytes / all;
	}
	free(rows);
	for (size_t i = 0; i < p->n_stacks; i++)
		l->samples += p->stacks[i].samples[MW_BY_LIVE];
}

static void find_line_label(struct mw_line_label *l, const struct mw_api *api)
{
	struct mw_snapshot *s = api->snapshot();
	struct mw_profile p;
	const struct mw_row *row;

	if (!s)
		return;
	row = mw_location_find(s, l->location, strlen(l->location));
	if (row && mw_profile_make(&p, api, &(struct mw_profile_how){ .row = row })) {
		take_most(l, &p);
		mw_profile_free(&p, api);
	}
	api->snapshot_free(s);
}

void mw_site_label(struct mw_site *s, struct mw_verdict *v)
{
	const struct mw_verdict_location *at = mw_verdict_wants_label(v) ? mw_verdict_at(v) : NULL;
	struct mw_line_label *l = &s->line_label;
	double now = mw_site_uptime(s);

	if (!at || at->len >= sizeof(l->location) || !s->stats.stacks)
		return;
	if (!(l->t > 0) || now > l->t + AGAIN_SECONDS || strlen(l->location) != at->len ||
	    memcmp(l->location, at->location, at->len) != 0) {
		*l = (struct mw_line_label){ .t = now };
		memcpy(l->location, at->location, at->len);
		find_line_label(l, s->api);
	}
	if (l->name[0])
		mw_verdict_label(v, l->name, l->share, l->samples);
}
