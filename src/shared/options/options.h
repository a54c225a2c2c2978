/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h - the one parser of $MWRAP.
 *
 * The tracker calls it at load, so it uses no malloc, stdio or locale, and never
 * exits. The launcher calls it through the Ruby extension before anything
 * runs. Both show the same line for the same mistake.
 *
 * The text is `key:value,key:value`. The first colon ends the key, so values
 * may hold colons. In a value a backslash quotes the next character (a comma,
 * a backslash), `%p` is the PID and `%%` a percent sign. Empty items are
 * ignored, so a trailing comma is, too, and blanks before an item. Numbers are decimal digits only, except
 * that memory_max takes a k, m or g behind them (1024, ...). The PID is put in
 * when the value is used, not when it is parsed: a forked child has another PID.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mw_format { MW_FORMAT_TEXT, MW_FORMAT_TSV, MW_FORMAT_CSV, MW_FORMAT_JSON };

#define MW_OPTIONS_TEXT_MAX 16384 /* bytes of $MWRAP that are accepted, with NUL */
#define MW_ERROR_MAX 640          /* one line, with NUL, without newline */
#define MW_DUMP_HEAP_FIGURES 1u   /* bits of dump_heap: lifespans and the like, */
#define MW_DUMP_HEAP_PAGES 2u     /* each live page, */
#define MW_DUMP_HEAP_ONLY 4u      /* and no table of locations */
#define MW_EVERY_MAX 31536000u    /* seconds: a year */
#define MW_KEEP_MAX 1000u
#define MW_KEEP 3u
#define MW_STACKS_RATE 524288u    /* bytes: of stacks:auto, at first */
#define MW_LABELS_MAX 8u
#define MW_LABEL_NAME_MAX 64u     /* bytes of a label's name, and of its value: */
#define MW_LABEL_VALUE_MAX 128u
#define MW_CALLERS_MOST 16u
#define MW_BASE_MAX 48            /* bytes of tmpdir and runtime_dir, with NUL */
#define MW_REPORT_ROOM 160        /* bytes of a path beyond the expanded report_dir */
#define MW_REPORT_AT_MAX 8u
#define MW_REPORT_EVERY 600u      /* seconds */
#define MW_REPORT_KEEP 5u
#define MW_REPORT_BYTES (UINT64_C(64) << 20)
#define MW_SNAPSHOT_ROOM 48       /* bytes of a path beyond the expanded dump_path: periodic.c */

/* AUTO: not in Ruby 3.1. In the order of the option's words. */
enum mw_objects_how { MW_OBJECTS_AUTO, MW_OBJECTS_ON, MW_OBJECTS_OFF };

/* When a report is written. */
enum mw_report_cause {
	MW_REPORT_SHARE, /* of the memory limit */
	MW_REPORT_RSS,
	MW_REPORT_GROWTH,
	MW_REPORT_OOM,
	MW_REPORT_EXIT,
	MW_REPORT_ASKED /* by somebody, not by an option */
};
struct mw_report_at {
	enum mw_report_cause cause;
	uint64_t value; /* SHARE: percent; RSS: bytes */
	const char *text; /* as given */
};

/*
 * Strings point into `text`, so the struct is never copied. A string is NULL if
 * its option was not given. Strings are unquoted but not expanded: see
 * mw_options_expand().
 */
struct mw_options {
	/* the server's alone, up to dump_path: mw_options_take_server */
	const char *socket;      /* path, < sizeof(sun_path) after expansion and with ".PID" */
	const char *socket_dir;  /* path; DIR/PID.sock fits likewise */
	const char *listen;      /* as given: "127.0.0.1:0", "[::1]:8080" */
	char listen_host[64];    /* numeric address without brackets */
	uint16_t listen_port;    /* 0: any free one */
	bool listen_far;         /* not a loopback address; then token_file is given */
	const char *token_file;  /* path, < PATH_MAX after expansion */
	unsigned socket_mode;    /* of the socket's file: 0600, and rw bits of group and others */
	const char *socket_group; /* name or number */
	int64_t socket_gid;      /* its number; -1: it is a name, or not given */
	bool read_only;
	unsigned proof_off; /* 0: the server may ask a forked child what is kept; 1: never */
	unsigned objects; /* enum mw_objects_how: does the server sample Ruby's objects? */
	bool history; /* the server keeps the history of locations; true if not given */
	bool source; /* pages may show source lines of locations; true if not given */
	unsigned exact_growth; /* 1: count exactly once something grows */
	const char *dump_path;   /* < PATH_MAX after expansion */
	int dump_fd;             /* -1: none */
	uint64_t dump_dev;       /* identity of dump_fd when it was parsed: the tracker doesn't */
	uint64_t dump_ino;       /* write to another file that gets its number later */
	uint64_t dump_min;       /* bytes */
	enum mw_format dump_format;
	unsigned dump_heap;      /* bits, 0 to 7; not 0: dump_format is text */
	uint64_t dump_every;     /* seconds, 1 to MW_EVERY_MAX: dump_path is given; 0: not given */
	unsigned file_mode; /* of new dumps and recordings, less the umask: 0600, and rw bits of group and others */
	uint64_t dump_keep; /* files, 1 to MW_KEEP_MAX; MW_KEEP if not given */
	uint64_t memory_max; /* bytes, as given; 0: not given */
	uint64_t stacks_rate; /* mean bytes from sample to sample, at first; 0: no stacks */
	bool stacks_auto; /* it changes by the cost */
	unsigned sampled; /* 1: allocations are sampled, not counted exactly */
	uint64_t sample; /* mean bytes from sample to sample then; 0: as for stacks */
	unsigned bt; /* Ruby callers kept with each location, 0 to MW_CALLERS_MOST */
	const char *labels[MW_LABELS_MAX]; /* "NAME=VALUE", each NAME once */
	unsigned labels_n;
	bool children_all; /* processes without Ruby that a tracked one starts get threads, too */
	const char *trace_path; /* < PATH_MAX after expansion, and with ".PID.NN" */
	uint64_t trace_max, trace_seconds; /* bytes, seconds; 0: not given */
	bool trace_drop, trace_fine;
	const char *report_dir; /* < PATH_MAX - MW_REPORT_ROOM after expansion; NULL: no reports */
	int report_fd; /* 1, 2: report_dir is stdout or stderr; 0: a directory */
	struct mw_report_at report_at[MW_REPORT_AT_MAX];
	unsigned report_at_n; /* not 0 if report_dir is given */
	uint64_t report_every, report_keep, report_max; /* seconds, reports, bytes */
	const char *report_command; /* < PATH_MAX after expansion */
	const char *malloc; /* "jemalloc", "mimalloc", "tcmalloc": for the launcher */
	/*
	 * $TMPDIR and $XDG_RUNTIME_DIR: a family's sockets may be there if no option names
	 * their place. "": not given, not absolute, or too long.
	 */
	char tmpdir[MW_BASE_MAX], runtime_dir[MW_BASE_MAX];
	char text[MW_OPTIONS_TEXT_MAX];
};

/*
 * Parses `env` (may be NULL or "") into *o. Returns true, or false with one
 * line in err that says which option is wrong and why. Then *o holds every
 * option that was right, and the tracker goes on with those. If token_file is
 * wrong, *o asks for no server.
 * Of an option given twice (unless it may be), and of two that exclude each other (socket and
 * socket_dir, dump_path and dump_fd), the first one counts.
 * `err` holds the first mistake, printable ASCII only, without a prefix like
 * "mwrap: ", or "" if all is right. Doesn't allocate; errno stays as it was.
 */
bool mw_options_parse(struct mw_options *o, const char *env, char err[MW_ERROR_MAX]);

/* Takes the server's options from *from, which keeps what they point to. No server reads them yet. */
void mw_options_take_server(struct mw_options *o, const struct mw_options *from);

/*
 * Sets one option in *o, which may keep `value`. Returns true, or false with the line in err. For
 * options that can be changed later: bt, stacks.
 */
bool mw_option_parse(struct mw_options *o, const char *key, const char *value, char err[MW_ERROR_MAX]);

/* Does an option give the server an address? */
bool mw_options_serve(const struct mw_options *o);
/* Does an option ask for the server's library: an address, or reports? */
bool mw_options_need_server(const struct mw_options *o);

/* Sets o->tmpdir and o->runtime_dir; values may be NULL. Call it after mw_options_parse(). */
void mw_options_bases(struct mw_options *o, const char *tmpdir, const char *runtime_dir);

/*
 * Writes `value` with %p and %% replaced to out (size bytes, NUL-terminated).
 * Returns the length. If it doesn't fit, or value is NULL, returns -1, and out
 * is "". Doesn't allocate.
 */
int mw_options_expand(const char *value, long pid, char *out, size_t size);
