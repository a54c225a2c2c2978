/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - from a snapshot to rows that are asked for, and to bytes.
 *
 * Knows nothing of HTTP, Ruby or the table's insides: it reads through
 * `struct mw_api` only, and is used by the exit dump, the server and the
 * Ruby extension alike (its objects are linked into each). It allocates;
 * callers that must not be counted enter quiet mode first (mw_dump_at_exit
 * does so itself).
 *
 * columns.h is the one table of columns: names, types, default order, title
 * and explanation. TSV, CSV, JSON, HTML and sorting come from it.
 * doc/reading-the-numbers.md lists the same columns (t/readme.t).
 *
 * Numbers never come out wrong at the edges: sums stop at the largest value
 * of their type instead of wrapping. Nothing here depends on the locale.
 */
#ifndef MW_REPORT_REPORT_H
#define MW_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "options/options.h"

/*
 * A growing byte buffer; starts all zero. `failed` sticks once memory could
 * not be had: check it before using p[n], which is not NUL-terminated.
 */
struct mw_buf {
	char *p;
	size_t n, cap;
	bool failed;
};
void mw_buf_add(struct mw_buf *, const void *, size_t);
void mw_buf_str(struct mw_buf *, const char *);
void mw_buf_fmt(struct mw_buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mw_buf_u64(struct mw_buf *, uint64_t);    /* 1234567 */
void mw_buf_commas(struct mw_buf *, uint64_t); /* 1,234,567 */
void mw_buf_i64(struct mw_buf *, int64_t);          /* -1234567 */
void mw_buf_signed_commas(struct mw_buf *, int64_t); /* -1,234,567 */
void mw_buf_pad_u64(struct mw_buf *, uint64_t, unsigned width); /* right-aligned, width <= 32 */
void mw_buf_seconds(struct mw_buf *, double); /* 4711.250; what is no sensible number is 0.000 */
void mw_buf_free(struct mw_buf *); /* all zero again */

/*
 * LINE: rows as they are. FILE: one row for each file or module. DIR: one for
 * each folder that holds these. GEM: one for each of
 *   NAME-VERSION       a gem: .../gems/NAME-VERSION/..., also bundler's git
 *                      gems (NAME-SHA) and built extensions; its .so, too
 *   ruby X.Y stdlib    .../lib/ruby/X.Y.Z/...
 *   vendor_ruby/NAME, site_ruby/NAME   libraries in Ruby's two other folders
 *   ruby core          <internal:...>
 *   MODULE             native code: the module's file name
 *   DIRECTORY          the application and anything else: the file's folder
 * Code from eval without a file of its own counts to the file that called it
 * where Ruby says which, as in "(eval at FILE:LINE)".
 */
enum mw_group { MW_GROUP_LINE, MW_GROUP_FILE, MW_GROUP_DIR, MW_GROUP_GEM };

/*
 * What to show. All of it has a default: zero the struct, then set sort to -1.
 * q chooses lines before they are grouped, by their location or the name of
 * their group; min then chooses among the groups.
 */
struct mw_query {
	uint64_t min;        /* rows with max(total, live_bytes) > min */
	int sort;            /* index into the columns, -1: the default */
	int order;           /* 1 ascending, -1 descending, 0: the column's default */
	uint64_t limit;      /* 0: all */
	uint64_t offset;
	const char *q;       /* substring of the location, NULL or q_len 0: any */
	size_t q_len;
	enum mw_group group;
};

#define MW_ID_NONE UINT32_MAX /* mw_row.id of a group or a sum: not for lives() */

/*
 * A result: chosen, grouped, sorted rows. Ties are ordered by the bytes of
 * the location, ascending, so pages are stable; a mean of nothing comes last
 * in either order. The rows' locations belong to the result.
 */
struct mw_result {
	struct mw_snapshot *snapshot; /* owned */
	struct mw_row *rows;          /* owned; n of them, after offset and limit */
	size_t n;
	size_t matched;               /* before offset and limit */
	struct mw_row sum;            /* over the matched rows; location "" */
	char *names;                  /* owned; the groups' names */
};

/* 0, or -1 when there is no memory; then *result is all zero. */
int mw_result_make(struct mw_result *, const struct mw_api *, const struct mw_query *);
void mw_result_free(struct mw_result *, const struct mw_api *); /* all zero again */

/* Adds the counters of a row to *sum; max_life is the larger one. */
void mw_row_add(struct mw_row *sum, const struct mw_row *);

/* By the bytes of the location: <0, 0, >0. */
int mw_location_cmp(const struct mw_row *, const struct mw_row *);

/*
 * For rows.c: n lines become one row for each group, sorted by name. Returns
 * them (malloc'ed; *names too, which the rows point into; *n is their number)
 * or NULL when there is no memory.
 */
struct mw_row *mw_group_rows(const struct mw_row *const *lines, size_t *n, enum mw_group, char **names);

/* Appends the name of the group that a row belongs to. */
void mw_group_name(struct mw_buf *, const struct mw_row *, enum mw_group);

/*
 * The rows in one of the forms, all of them. Text is mwrap 1.x's three columns
 * "%16u %12u %s": total, allocations, location, without a header.
 * TSV and CSV have a header line. JSON is an array of objects.
 */
void mw_render(struct mw_buf *, const struct mw_result *, enum mw_format);

/* The columns of a row as members of a JSON object, without its braces. */
void mw_json_row(struct mw_buf *, const struct mw_row *);

/*
 * Finds a location as any page shows it: "PATH:LINE", "MODULE(sym+0x1) [0x..]",
 * the latter also without its address or with another one (another process's),
 * or without its symbol, "MODULE(+0x9) [0x..]", as a line on stderr has it,
 * mwrap 2.x's "NAME\t[0xADDR]", and what became of any of these in TSV, CSV,
 * JSON or the dump (escaped, or with U+FFFD for invalid bytes). The closest
 * form wins, and among equally close ones the row with the largest total. Any length is fine.
 * Returns the row in the snapshot, or NULL if there is none.
 */
const struct mw_row *mw_location_find(const struct mw_snapshot *, const char *, size_t);
/* The same; 0: *row is it. 1: there is none. 2: it is a short id that several have. */
int mw_location_look(const struct mw_snapshot *, const char *, size_t, const struct mw_row **row);

/*
 * A short id, "~" and 16 hex digits, for a location that is too long for an address: of what is
 * shown of it, without the address in memory, so that all processes of a family give it the same
 * one. web/src/place.js does the same.
 */
enum { MW_SHORT_ID = 17 };
void mw_location_short(const struct mw_row *, char id[MW_SHORT_ID + 1]);

/*
 * Escapes: tab, newline, CR and backslash are \t \n \r \\ in text and TSV.
 * Invalid UTF-8 becomes U+FFFD in all but text, which keeps it.
 */
void mw_buf_text(struct mw_buf *, const char *, size_t);
void mw_buf_utf8(struct mw_buf *, const char *, size_t); /* made valid, nothing escaped */
void mw_buf_tsv(struct mw_buf *, const char *, size_t);
void mw_buf_csv(struct mw_buf *, const char *, size_t);  /* with quotes where they are needed */
void mw_buf_json(struct mw_buf *, const char *, size_t); /* with the quotes */
void mw_buf_html(struct mw_buf *, const char *, size_t); /* for text and quoted attributes */

/* --- one location's live allocations -------------------------------------- */

/* Blocks whose size or age is from `from` to `to`: 0, 1, 2-3, 4-7, 8-15, ... */
struct mw_bucket {
	uint64_t from, to;
	uint64_t count, bytes;
};
#define MW_BUCKETS_MAX 65

struct mw_at {
	struct mw_snapshot *snapshot; /* owned */
	const struct mw_row *row;     /* in it */
	struct mw_lives *lives;       /* owned; newest first, ties by address */
	struct mw_stats stats;        /* taken after the lives: generation, life_unit */
	struct mw_bucket by_size[MW_BUCKETS_MAX], by_age[MW_BUCKETS_MAX];
	size_t n_size, n_age;         /* buckets in use: none is empty, ascending */
};

#define MW_LIVE_COLUMNS_N 4
struct mw_live_column {
	const char *name, *title, *about;
};
extern const struct mw_live_column mw_live_columns[MW_LIVE_COLUMNS_N];

/* 0; 1 if there is no such location, 2 if several have that short id; -1 if there is no memory: all as zeroed. */
int mw_at_make(struct mw_at *, const struct mw_api *, const char *location, size_t len);
void mw_at_free(struct mw_at *, const struct mw_api *); /* all zero again */

/* How old a live block is, in life_unit; 0 if it is newer than the stats. */
uint64_t mw_live_age(const struct mw_at *, const struct mw_live *);

/*
 * TSV and CSV: columns size, generation, age, address, one row for each block.
 * JSON: an object with the location's columns, generation, life_unit, by_size
 * and by_age (objects with from, to, count, bytes) and lives (objects with
 * those four columns). Text is as TSV.
 */
void mw_render_at(struct mw_buf *, const struct mw_at *, enum mw_format);

/*
 * The same JSON with the newest `limit` lives only (0: all) and, if oldest is
 * not 0, the member "oldest": so many of the oldest ones, oldest first.
 */
void mw_render_at_part(struct mw_buf *, const struct mw_at *, uint64_t limit, uint64_t oldest);

/* --- blocks written past their end ------------------------------------------ */

struct mw_overruns_list {
	struct mw_snapshot *snapshot; /* owned */
	const struct mw_row **rows; /* owned; in the snapshot, those with overruns, most first */
	size_t n;
	struct mw_stats stats; /* taken just before the rows */
};

/* 0, or -1 when there is no memory; then *list is all zero. Ties are in order of location. */
int mw_overruns_make(struct mw_overruns_list *, const struct mw_api *);
void mw_overruns_free(struct mw_overruns_list *, const struct mw_api *); /* all zero again */

/*
 * TSV and CSV: mw_overrun_columns, one row for each location. JSON: an object
 * with overruns, double_frees and unknown_frees of mw_stats, and rows. Text is
 * as TSV.
 */
void mw_render_overruns(struct mw_buf *, const struct mw_overruns_list *, enum mw_format);

/* --- the process ---------------------------------------------------------- */

/*
 * Resident memory in bytes. statm: /proc/self/statm, opened by this process, or
 * -1: opens and closes it. False: it can't be read.
 */
bool mw_rss_bytes(int statm, uint64_t *);

/* One JSON object: all of mw_stats, pid, rss_bytes (or null), version, options. */
void mw_render_stats_json(struct mw_buf *, const struct mw_api *, int statm);

/*
 * Appends the exit dump as the options say, in one piece; does nothing if
 * they don't ask for one. On failure one line on stderr. Neither allocations
 * nor errno of the caller are affected; never blocks for ever. False: it was
 * asked for and could not be written.
 */
bool mw_dump_at_exit(const struct mw_api *);

/*
 * Periodic dumps (option dump_every; periodic.c). At most one thread at a
 * time is inside any of these. render allocates what write then writes, and
 * the caller frees; both want a quiet thread. write holds no lock, uses no
 * memory but the stack, and opens, writes and closes one file under a name
 * that nobody looks for before it gets its real one. Returns 0 or an errno.
 * shared: the calling thread has the app's table of descriptors.
 */
bool mw_periodic_render(struct mw_buf *, const struct mw_api *); /* false: no memory */
int mw_periodic_write(const struct mw_buf *, const struct mw_options *, bool shared);
/* One line for a dump that failed, but only one for each errno in a process and its forks. */
void mw_periodic_complain(int err, const struct mw_options *);
/* Removes what this process wrote: its exit dump says all of that, and more. */
void mw_periodic_remove(const struct mw_options *);
/* In a forked child: the files are the parent's; a descriptor that it had open is closed. */
void mw_periodic_child(void);

#endif
