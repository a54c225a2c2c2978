/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.h - shared by the two files of /diff. */
#pragma once

#include "server/marks/diff.h"
#include "listing.h"

/* A moment as it was asked for: "start", "peak", "now", a mark's name, or seconds of uptime. */
struct mw_diff_end {
	const char *name; /* borrowed */
	size_t n;
	bool is_time, is_peak;
	const struct mw_named_mark *mark; /* NULL: another moment */
	double t; /* uptime */
};

struct mw_diff_view {
	struct mw_listing l; /* the first: slots of listing.h get the view */
	struct mw_diff_source source;
	struct mw_diff_end from, to;
	struct mw_diff diff; /* owned */
};

/* The query of /diff but for its moments. 0, or a status with a reason. It borrows from p. */
int mw_diff_query(struct mw_query *, const struct mw_params *p, enum mw_form, struct mw_buf *why);
/* The page's main part. ctx: struct mw_diff_view. */
void mw_html_diff(struct mw_buf *, void *ctx);
