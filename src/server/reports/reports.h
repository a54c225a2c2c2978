/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reports.h - reports that a process writes by itself (options report_dir, report_at ...).
 *
 * A report is a directory, DIR/APP-PID-20261125T031500Z. Two threads make it:
 *  - the server's thread looks whether one is due (due.h), and renders one file of it after the other
 *    (files.h). It makes no system call on the disk, and never waits but at exit;
 *  - a thread of its own writes (report_thread.h), and ends with the report.
 * The second one takes a file when it has written the one before. So two rendered files are in memory at most,
 * and a disk that hangs holds up nothing but the next report.
 *
 * A reader finds this in DIR, whenever the process is killed:
 *	NAME.first/  verdict.txt and each.tsv, whole: it is there within some milliseconds
 *	NAME/        all files, whole; NAME.first is gone
 * Both get their names by rename(2). An unfinished one is in .NAME.tmp.
 *
 * With report_dir:stdout a report is one line of JSON instead (line.h).
 *
 * One process at a time writes into a DIR: it has flock(2) on it. Others wait, and write theirs afterwards.
 * All calls are the server's thread's, in quiet mode, with the site, but for mw_reports_child.
 */
#pragma once

#include "server/pages/site.h"

/* Before the server opens anything: from here on mw_reports_exit writes. */
void mw_reports_start(const struct mw_api *);
/* Before its loop: the eventfd that ends the loop's sleep. */
void mw_reports_wake(int fd);
/* Looks, renders, hands over. Returns ms until it wants to look again, -1: never. */
int mw_reports_look(struct mw_site *, uint64_t now);
/* The process exits: ends what is under way, and writes the report of report_at:exit. Waits for EXIT_MS at most. */
void mw_reports_exit(struct mw_site *);
/* In a forked child: it has no report under way. System calls and stores only. */
void mw_reports_child(void);
