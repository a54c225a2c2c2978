/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_thread.h - the thread that writes one report, and its hand-over with the server's thread.
 *
 *	server's thread                         the report's thread
 *	mw_report_job_begin                     locks the directory, makes the hidden one
 *	mw_report_job_takes: true          <--  is ready for a file
 *	mw_report_job_give(file)           -->  writes it; after the last of the first part: NAME.first
 *	...
 *	mw_report_job_give(MW_REPORT_FILES) --> NAME; removes old ones; runs report_command
 *	mw_report_job_over: true           <--  ends
 *
 * With report_dir:stdout it takes one text, writes that, and ends.
 *
 * The thread has a table of descriptors of its own (shared/sys/own_descriptors.h): a forked child inherits none, and
 * the app can't close them. A job belongs to both threads; the last one frees it.
 * If own threads must leave, or the server's thread drops the job, it ends and removes what isn't whole.
 */
#pragma once

#include <stdatomic.h>

#include "folder.h"
#include "shared/text/buf.h"

struct mw_api;
struct mw_report_job;

/* The outcome of a report. */
struct mw_report_result {
	int err; /* 0: written; EWOULDBLOCK: another process writes one; ECANCELED: it had to leave */
	int command_err;
	char name[MW_REPORT_NAME];
};

/* NULL: no memory, or no thread. wake: an eventfd, written after each change; -1: none. */
struct mw_report_job *mw_report_job_begin(const struct mw_api *, int wake, const char *app);
bool mw_report_job_takes(const struct mw_report_job *);
/* Takes the text; an empty one is left out. */
void mw_report_job_give(struct mw_report_job *, int file, struct mw_buf *text);
/* The report's name; valid once it takes a file. */
const char *mw_report_job_name(const struct mw_report_job *);
bool mw_report_job_over(const struct mw_report_job *, struct mw_report_result *);
/* The server's thread has no more to do with it. */
void mw_report_job_drop(struct mw_report_job *);
