/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - from a snapshot to the rows of a query, and to bytes.
 *
 * The room knows nothing of HTTP, Ruby or the table's insides: it reads through
 * `struct mw_api` only. The exit dump, the server and the Ruby extension use
 * it; its objects are linked into each. It allocates: callers that must not be
 * counted enter quiet mode first (mw_dump_at_exit does so itself).
 *
 * columns.def is the one list of columns: names, types, default order, title
 * and explanation. TSV, CSV, JSON, HTML and sorting come from it.
 * doc/reading-the-numbers.md lists the same columns (t/readme.t).
 *
 * Sums stop at the largest value of their type instead of wrapping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "shared/options/options.h"
#include "shared/text/buf.h"

/*
 * LINE: rows as they are. FILE: one row for each file or module. DIR: one for
 * each folder of these. GEM: one for each of
 *   NAME-VERSION       a gem: .../gems/NAME-VERSION/..., also bundler's git
 *                      gems (NAME-SHA) and built extensions; its .so, too
 *   ruby X.Y stdlib    .../lib/ruby/X.Y.Z/...
 *   vendor_ruby/NAME, site_ruby/NAME   libraries in Ruby's two other folders
 *   ruby core          <internal:...>
 *   MODULE             native code: the module's file name
 *   DIRECTORY          the application and anything else: the file's folder
 * Code from eval without a file of its own counts to the calling file, if Ruby
 * names that, as in "(eval at FILE:LINE)".
 * KIND: one row for each kind of memory; a location's parts count to several.
 */
enum mw_group { MW_GROUP_LINE, MW_GROUP_FILE, MW_GROUP_DIR, MW_GROUP_GEM, MW_GROUP_KIND };

/*
 * A query. Its defaults: zero the struct, then set sort to -1. q chooses lines
 * before grouping, by their location or the name of their group; min then
 * chooses among the groups.
 */
struct mw_query {
	uint64_t min;        /* rows with more total, live_bytes or object_bytes; see mw_table.size */
	int sort;            /* index into the columns, -1: the default */
	int order;           /* 1 ascending, -1 descending, 0: the column's default */
	uint64_t limit;      /* 0: all */
	uint64_t offset;
	const char *q;       /* substring of the location, NULL or q_len 0: any */
	size_t q_len;
	enum mw_group group;
	bool kinds;          /* with kinds of memory (kinded.h), which cost a copy of the stacks */
	const char *kind; /* only this kind's part of each location; NULL or kind_len 0: all of it */
	size_t kind_len;
	const struct mw_table *table; /* the columns of these rows; NULL: mw_columns */
};

#define MW_ID_NONE UINT32_MAX /* mw_row.id of a group or a sum: not for lives() */

/*
 * A result: chosen, grouped, sorted rows. Ties are in order of the location's
 * bytes, ascending, so pages are stable. A mean of nothing comes last in either
 * order. The result owns the rows' locations.
 */
struct mw_result {
	struct mw_snapshot *snapshot; /* owned; NULL: the rows came from elsewhere */
	struct mw_row *rows; /* owned; n of them, after offset and limit */
	size_t n;
	size_t matched; /* before offset and limit */
	struct mw_row sum; /* over the matched rows; location "" */
	char *names; /* owned; the groups' names */
	struct mw_kinded *kinds; /* owned; NULL: none were asked for */
};

/* 0, or -1: no memory, and *result is all zero. */
int mw_result_make(struct mw_result *, const struct mw_api *, const struct mw_query *);
/* The same from n rows that aren't a snapshot's, and outlive the result. Without kinds. */
int mw_result_of(struct mw_result *, const struct mw_row *rows, size_t n, const struct mw_query *);
void mw_result_free(struct mw_result *, const struct mw_api *); /* all zero again */

/* Adds the counters of a row to *sum; life_max is the larger one. */
void mw_row_add(struct mw_row *sum, const struct mw_row *);
/* Bytes by which live_bytes may be off, in 19 of 20 cases. */
uint64_t mw_row_live_error(const struct mw_row *);

/* Compares the locations' bytes: <0, 0, >0. */
int mw_location_cmp(const struct mw_row *, const struct mw_row *);

/*
 * For rows.c: n lines become one row for each group, sorted by name; *n is then
 * the number of rows. Returns them, malloc'ed, or NULL: no memory. The rows
 * point into *names, malloc'ed, too. With kinds, if they aren't NULL.
 */
struct mw_kinded;
struct mw_row *mw_group_rows(const struct mw_row *const *lines, size_t *n, enum mw_group, char **names,
			     struct mw_kinded *);

/* Appends the name of the group that a row belongs to. */
void mw_group_name(struct mw_buf *, const struct mw_row *, enum mw_group);

/*
 * Appends all rows in one of the forms. Text is mwrap 1.x's three columns
 * "%16u %12u %s": total, allocations, location, without a header.
 * TSV and CSV have a header line. JSON is an array of objects.
 */
void mw_render(struct mw_buf *, const struct mw_result *, enum mw_format);

/* The same of any rows and columns, but no text. TSV and CSV have a header line, JSON is an array. */
struct mw_table;
void mw_render_table(struct mw_buf *, const struct mw_table *, const struct mw_row *rows, size_t n,
		     enum mw_format);

/*
 * Appends ,"location",file_len,"kind" for a list in JSON: file_len is in UTF-16 units of the text,
 * kind is ruby, native or special.
 */
void mw_json_location(struct mw_buf *, const char *location, uint32_t len, uint32_t file_len, enum mw_kind);

/* Appends the columns of a row as members of a JSON object, without its braces. */
void mw_json_row(struct mw_buf *, const struct mw_row *);

/*
 * Finds a location by any form that a page, a dump or a log line shows:
 *  - "PATH:LINE";
 *  - "MODULE(sym+0x1) [0x..]", also without or with another process's address;
 *  - "MODULE(+0x9) [0x..]", without a symbol, as on stderr;
 *  - "NAME\t[0xADDR]", mwrap 2.x's;
 *  - any of these as escaped in TSV, CSV, JSON or the dump, or with U+FFFD.
 * The closest form wins; among equally close ones the row with the largest
 * total. Any length is fine. Returns the row in the snapshot, or NULL: none.
 */
const struct mw_row *mw_location_find(const struct mw_snapshot *, const char *, size_t);
/* The same, and by a short id. 0: *row is it. 1: there is none. 2: several have that short id. */
int mw_location_look(const struct mw_snapshot *, const char *, size_t, const struct mw_row **row);
/*
 * Appends the ids (uint32_t) of a row of the snapshot, and of those that are the same line with chains
 * of its callers: see the option bt.
 */
void mw_location_ids(const struct mw_snapshot *, const struct mw_row *, struct mw_buf *ids);

/*
 * A short id, "~" and 16 hex digits, for a location that is too long for a URL. It is a hash of the
 * shown text without the address in memory: all processes of a family give the same one.
 * web/src/place.js computes it, too.
 */
enum { MW_SHORT_ID = 17 };
void mw_location_short(const struct mw_row *, char id[MW_SHORT_ID + 1]);

/* The length of a row's location without " [0xADDR]", which native code has in one process only. */
uint32_t mw_location_bare(const struct mw_row *);

/* The address in "...[0xADDR]"; 0: none, or more than 64 bits. */
uint64_t mw_location_address(const char *, size_t);

/* --- one location's live allocations -------------------------------------- */

/* Blocks with a size or age from `from` to `to`: 0, 1, 2-3, 4-7, 8-15, ... */
struct mw_bucket {
	uint64_t from, to;
	uint64_t count, bytes;
};
#define MW_BUCKETS_MAX 65

struct mw_at {
	struct mw_snapshot *snapshot; /* owned */
	const struct mw_row *row; /* in it */
	struct mw_lives *lives; /* owned; newest first, ties by address */
	struct mw_stats stats; /* taken after the lives: generation, life_unit */
	struct mw_bucket by_size[MW_BUCKETS_MAX], by_age[MW_BUCKETS_MAX];
	size_t n_size, n_age; /* buckets in use, ascending; none is empty */
};

#define MW_LIVE_COLUMNS_N 4
struct mw_live_column {
	const char *name, *title, *about;
};
extern const struct mw_live_column mw_live_columns[MW_LIVE_COLUMNS_N];

/* 0; 1: no such location; 2: several have that short id; -1: no memory. All zero unless 0. */
int mw_at_make(struct mw_at *, const struct mw_api *, const char *location, size_t len);
void mw_at_free(struct mw_at *, const struct mw_api *); /* all zero again */

/* The age of a live block, in life_unit; 0 if it is newer than the stats. */
uint64_t mw_live_age(const struct mw_at *, const struct mw_live *);

/*
 * TSV and CSV: columns size, generation, age, address, one row for each block.
 * JSON: an object with the location's columns, generation, life_unit, by_size
 * and by_age (objects with from, to, count, bytes) and lives (objects with
 * those four columns). Text is as TSV.
 */
void mw_render_at(struct mw_buf *, const struct mw_at *, enum mw_format);

/*
 * The same JSON with the newest `limit` lives only (0: all). If oldest is not 0,
 * it has the member "oldest": that many of the oldest ones, oldest first. more: further members,
 * each behind a comma; NULL: none.
 */
void mw_render_at_part(struct mw_buf *, const struct mw_at *, uint64_t limit, uint64_t oldest,
		       const struct mw_buf *more);

/* --- blocks written past their end, or freed with a wrong size ------------------------------------------ */

struct mw_overruns_list {
	struct mw_snapshot *snapshot; /* owned */
	const struct mw_row **rows; /* owned; the snapshot's rows with either, most first */
	size_t n;
	struct mw_stats stats; /* taken just before the rows */
};

/* 0, or -1: no memory, and *list is all zero. Ties are in order of location. */
int mw_overruns_make(struct mw_overruns_list *, const struct mw_api *, const struct mw_stats *);
void mw_overruns_free(struct mw_overruns_list *, const struct mw_api *); /* all zero again */

/*
 * TSV and CSV: mw_overrun_columns, one row for each location. JSON: an object
 * with overruns, double_frees, unknown_frees and wrong_sizes of mw_stats, and rows. Text is
 * as TSV.
 */
void mw_render_overruns(struct mw_buf *, const struct mw_overruns_list *, enum mw_format);

/* --- the process ---------------------------------------------------------- */

/*
 * Resident memory in bytes. statm: a descriptor of /proc/self/statm that this
 * process opened; -1: the call opens and closes it. False: it can't be read.
 */
bool mw_rss_bytes(int statm, uint64_t *);

/* /proc/self/statm; files: mapped files and shared memory. */
struct mw_rss {
	uint64_t bytes, files;
};
/* As mw_rss_bytes (report.h). False: it can't be read. */
bool mw_rss_read(int statm, struct mw_rss *);

const char *mw_record_reason_name(enum mw_record_reason); /* "stop" */
/* One JSON object: the recording that is under way, or the last one; NULL: there was none. */
void mw_render_recording(struct mw_buf *, const struct mw_record_state *, uint64_t now_ns);

/*
 * One JSON object: all of mw_stats, pid, rss_bytes (or null), version, options, Ruby's major
 * collections (NULL: null), and the members that `more` appends.
 */
void mw_render_stats_json(struct mw_buf *, const struct mw_api *, int statm, const uint32_t *majors,
			  void (*more)(struct mw_buf *, const struct mw_stats *, void *ctx), void *ctx);

/*
 * Appends the exit dump to dump_path or dump_fd, in one piece; does nothing if
 * the options ask for neither. On failure it writes one line to stderr.
 * It changes neither the caller's counts nor errno, and never blocks for ever.
 * False: the dump was asked for and could not be written.
 *
 * said: a sentence for the last line of a text dump, behind "# "; NULL: none.
 */
bool mw_dump_at_exit(const struct mw_api *, const char *said);

/*
 * Periodic dumps (option dump_every; periodic.c). At most one thread at a time
 * is inside any of these. render and write need a quiet thread; the caller
 * frees the buffer. write holds no lock and uses no memory but the stack. It
 * opens, writes and closes one file under a hidden name, then renames it.
 * Returns 0 or an errno. shared: the thread shares the app's descriptor table.
 */
bool mw_periodic_render(struct mw_buf *, const struct mw_api *); /* false: no memory */
int mw_periodic_write(const struct mw_buf *, const struct mw_options *, bool shared);
/* One line for a dump that failed; one for each errno in a process and its forks. */
void mw_periodic_complain(int err, const struct mw_options *);
/* Removes the files that this process wrote: its exit dump says all of that, and more. */
void mw_periodic_remove(const struct mw_options *);
/* In a forked child: forgets the parent's files, and closes a descriptor inherited open. */
void mw_periodic_child(void);
