/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder.h - a report's directory on the disk: made under a hidden name, renamed when it is whole; and the removal of
 * old ones.
 *
 * All names are looked up in report_dir's own descriptor, and no link is followed below it. Only directories of this
 * app and user are removed, and of these only what a report has: a directory with anything else in it stays.
 * Each call may hang in the kernel. They allocate nothing but what readdir(3) does. A thread of our own calls.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MW_REPORT_APP = 48, MW_REPORT_NAME = MW_REPORT_APP + 40 };

struct mw_folder {
	int dir;    /* of report_dir; it holds the lock */
	int hidden; /* of .NAME.tmp, or -1 */
	bool first; /* NAME.first is there */
	bool locked; /* else the file system has no locks */
	mode_t mode; /* of files */
	char name[MW_REPORT_NAME]; /* "app.rb-17-20261125T031500Z" */
};

/* A name of an app, for file names: letters, digits, "-", "_" and "."; never empty. */
void mw_folder_app(char app[MW_REPORT_APP], const char *text, size_t n);

/* All return 0 or an errno. */

/* Opens report_dir and its lock. EWOULDBLOCK: another process writes a report there. */
int mw_folder_open(struct mw_folder *, const char *path, mode_t mode);
/* Makes .NAME.tmp, with a name that nothing else has. unix_time: of the report */
int mw_folder_make(struct mw_folder *, const char *app, long pid, int64_t unix_time);
int mw_folder_add(struct mw_folder *, const char *file, const char *text, size_t n);
/* .NAME.tmp becomes NAME.first, and a new one gets the same files. */
int mw_folder_publish_first(struct mw_folder *);
/* .NAME.tmp becomes NAME. */
int mw_folder_publish(struct mw_folder *);
/* Removes what isn't whole, and closes all. */
void mw_folder_close(struct mw_folder *);
/* Opens a directory in another one, which is no link; -1 with errno. */
int mw_folder_enter(int dir, const char *name);
/* Removes a report's files in a directory, and the directory unless something else is in it. */
void mw_folder_remove(int dir, const char *name);
/* Keeps the newest `keep` reports of the app, and `max` bytes of them, but at least one; removes what killed ones left. */
void mw_folder_prune(struct mw_folder *, const char *app, uint64_t keep, uint64_t max);
