/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h - the one parser of $MWRAP.
 *
 * Used by the tracker at load (so: no malloc, no stdio, no locale, no
 * exit) and by the launcher, through the Ruby extension, before anything
 * runs. Both show the same line for the same mistake.
 *
 * The text is `key:value,key:value`. The first colon ends the key, so values
 * may hold colons. In a value a backslash quotes the next character (a comma,
 * a backslash), `%p` is the PID and `%%` a percent sign. Empty items are
 * ignored, and with them a trailing comma. Numbers are decimal digits and
 * nothing else, but that memory_max takes a k, m or g behind them (1024, ...).
 * The PID is put in when the value is used, not when it is parsed: a forked
 * child has another one.
 */
#ifndef MW_OPTIONS_OPTIONS_H
#define MW_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mw_format { MW_FORMAT_TEXT, MW_FORMAT_TSV, MW_FORMAT_CSV, MW_FORMAT_JSON };

#define MW_OPTIONS_TEXT_MAX 16384 /* bytes of $MWRAP that are accepted, with NUL */
#define MW_ERROR_MAX 384          /* one line, with NUL, without newline */
#define MW_DUMP_HEAP_FIGURES 1u   /* bits of dump_heap: lifespans and the like, */
#define MW_DUMP_HEAP_PAGES 2u     /* each live page, */
#define MW_DUMP_HEAP_ONLY 4u      /* and no table of locations */
#define MW_EVERY_MAX 31536000u    /* seconds: a year */
#define MW_KEEP_MAX 1000u
#define MW_KEEP 3u
#define MW_BASE_MAX 48            /* of a directory in which a family's sockets can be, with NUL */
#define MW_SNAPSHOT_ROOM 48       /* bytes of a path beyond the expanded dump_path: snapshots.c */

/*
 * Strings point into `text`, so the struct is never copied; NULL where the
 * option was not given. They are unquoted but not expanded: see
 * mw_options_expand().
 */
struct mw_options {
	const char *socket;      /* path, < sizeof(sun_path) after expansion and with ".PID" */
	const char *socket_dir;  /* as long as DIR/PID.sock fits likewise */
	const char *listen;      /* as given: "127.0.0.1:0", "[::1]:8080" */
	char listen_host[64];    /* numeric address without brackets */
	uint16_t listen_port;    /* 0: any free one */
	bool listen_far;         /* that isn't a loopback address; token_file is given, then */
	const char *token_file;  /* path, < PATH_MAX after expansion */
	unsigned socket_mode;    /* of the socket's file: 0600, others' and the group's rw bits */
	const char *socket_group; /* name or number */
	int64_t socket_gid;      /* that number; -1: it's a name, or not given */
	const char *dump_path;   /* < PATH_MAX after expansion */
	int dump_fd;             /* -1: none */
	uint64_t dump_dev;       /* what dump_fd was when it was parsed, so that */
	uint64_t dump_ino;       /* nobody writes to what has its number later */
	uint64_t dump_min;       /* bytes */
	enum mw_format dump_format;
	unsigned dump_heap;      /* bits, 0 to 7; not 0: dump_format is text */
	uint64_t dump_every;     /* seconds, 1 to MW_EVERY_MAX; 0: not given. Then dump_path is, too */
	uint64_t dump_keep;      /* files, 1 to MW_KEEP_MAX; MW_KEEP if not given */
	uint64_t memory_max;     /* bytes, as given; 0: not given */
	bool children_all; /* also processes without Ruby that a tracked one starts get threads */
	const char *malloc;      /* "jemalloc", "mimalloc", "tcmalloc": for the launcher */
	/* Where sockets may be that no option names: $TMPDIR, $XDG_RUNTIME_DIR; "": not given, or too long. */
	char tmpdir[MW_BASE_MAX], runtime_dir[MW_BASE_MAX];
	bool read_only;
	bool source; /* pages may show lines of the files in the table; true if not given */
	char text[MW_OPTIONS_TEXT_MAX];
};

/*
 * Parses `env` (may be NULL or "") into *o. Returns true, or false with one
 * line in err that says which option is wrong and why; then *o holds every
 * option that was right (the tracker goes on with those, without the rest;
 * and without a server if what is wrong is who may talk to it: token_file).
 * Of an option given twice, and of two that exclude each other (socket and
 * socket_dir, dump_path and dump_fd), the first one counts.
 * `err` holds the first mistake, printable ASCII only, without a prefix such
 * as "mwrap: ", and "" when all is right. Does not allocate and does not
 * touch errno.
 */
bool mw_options_parse(struct mw_options *o, const char *env, char err[MW_ERROR_MAX]);

/* Notes where sockets may be; any may be NULL. After mw_options_parse(), of which this is no part. */
void mw_options_bases(struct mw_options *o, const char *tmpdir, const char *runtime_dir);

/*
 * Writes `value` with %p and %% replaced to out (size bytes, NUL-terminated).
 * Returns the length, or -1 if it does not fit or value is NULL; out is ""
 * then. Does not allocate.
 */
int mw_options_expand(const char *value, long pid, char *out, size_t size);

#endif
