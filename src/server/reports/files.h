/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h - the files of a report: what is in them is what a server answers (server/pages). The server's thread, with
 * the site, in quiet mode.
 */
#pragma once

#include "server/pages/site.h"

/* Why and when. */
struct mw_report_about {
	const char *app, *name; /* "app.rb", and the report's directory */
	const char *cause; /* "RSS reached 1500m" */
	double since; /* uptime from which diff.tsv counts; < 0: the start */
};

enum { MW_REPORT_FILES = 8, MW_REPORT_FIRST = 2, MW_REPORT_ALL = 7 };
/* Their names; the first two are the first part. MW_REPORT_ALL: a family's, which the writer asks for. */
extern const char *const mw_report_files[MW_REPORT_FILES];

/* Appends one of them. False: no memory, or it can't be had; then the buffer is freed. */
bool mw_report_render(struct mw_buf *, struct mw_site *, int file, const struct mw_report_about *);

/*
 * The sum of a family's tables, in its first process with a server; else nothing is appended. It waits for other
 * processes: the report's thread calls.
 */
void mw_report_render_all(struct mw_buf *, const struct mw_api *);

/* page.c: report.html */
bool mw_report_page(struct mw_buf *, struct mw_site *, const struct mw_report_about *);
/* The answer to GET PATH?QUERY. False: it isn't 200; then the buffer is empty. */
bool mw_report_answer(struct mw_buf *, struct mw_site *, const char *path, const char *query);
