/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.h - the growth, its start and its cause: one sentence about a process.
 *
 * The verdict explains RSS, by its parts (parts.h) and by the locations of the live part
 * (curves.h). Rate and shares come from the same window: from `since` to the end of the range.
 *
 * Judgement (verdict.c) and words (verdict_words.c) are apart. Both are pure functions of the
 * evidence: no clock, no locale, no lock. They allocate.
 *
 * Order of judgement; the first that holds is the kind:
 *   watching      not enough seen yet
 *   disabled      memory rises, and no collection runs
 *   explodes      live memory or RSS became half as much again within a minute, and no growth below was as fast before
 *   grows         live memory rises steadily, or one location's does
 *   threads, descriptors: their number rises, and that explains what memory does
 *   heap, fragmentation, native, files, stacks, tracker: RSS rises steadily, and that part of it most
 *   warming       a rise within the first minutes that gets slower
 *   falls
 *   uncollected   live memory rises, but it isn't proven to be kept (proof.h)
 *   spike         nothing grows, and much of RSS is free memory since live memory was higher
 *   filled, grew, step, sawtooth, flat
 *
 * A rise in the last minutes counts only if it goes beyond what longer ranges have seen come
 * and go. A rise that is seen over longer ranges only counts while its last step is no older
 * than such steps are apart.
 */
#ifndef MW_REPORT_LIVE_VERDICT_H
#define MW_REPORT_LIVE_VERDICT_H

#include "server/history/curves.h"
#include "server/history/history.h"
#include "server/objects/objects.h"
#include "held.h"
#include "reach.h"

enum mw_verdict_kind {
	MW_VERDICT_WATCHING,
	MW_VERDICT_WARMING,
	MW_VERDICT_FLAT,
	MW_VERDICT_SAWTOOTH,
	MW_VERDICT_FILLED,
	MW_VERDICT_GROWS,
	MW_VERDICT_GREW,
	MW_VERDICT_STEP,
	MW_VERDICT_FALLS,
	MW_VERDICT_EXPLODES,
	MW_VERDICT_HEAP,
	MW_VERDICT_FRAGMENTATION,
	MW_VERDICT_NATIVE,
	MW_VERDICT_FILES,
	MW_VERDICT_STACKS,
	MW_VERDICT_PAUSED,
	MW_VERDICT_UNCOLLECTED,
	MW_VERDICT_THREADS,
	MW_VERDICT_DESCRIPTORS,
	MW_VERDICT_DISABLED,
	MW_VERDICT_SPIKE,
	MW_VERDICT_TRACKER,
	MW_VERDICT_KINDS_N
};

/* Parts of RSS; the first is RSS itself. */
enum mw_rss_part {
	MW_PART_RSS,
	MW_PART_LIVE,
	MW_PART_HEAP,
	MW_PART_FREE,
	MW_PART_ANON,
	MW_PART_FILES,
	MW_PART_STACKS,
	MW_PART_TRACKER,
	MW_PARTS_N
};
extern const char *const mw_part_names[MW_PARTS_N];

/* The measurements of one range of time, in seconds of uptime. */
struct mw_scale {
	double from, to;
	struct mw_point *points; /* ascending, of one grid */
	size_t n;
	struct mw_curve_set *curves;
};

enum { MW_SCALES_MAX = 4, MW_VERDICT_LOCATIONS = 5, MW_VERDICT_SUSPECTS = 12, MW_GROWERS = 32 };

/* The growth that is told so far. */
struct mw_accused {
	enum mw_rss_part part; /* RSS: none is told */
	double since, rate;    /* bytes a second */
	bool doubled;          /* as in struct mw_verdict */
	uint32_t len;          /* of the location; 0: none, it is all of the part */
	char location[160];    /* longer ones aren't known */
};

struct mw_evidence {
	double start; /* uptime at which this process began: 0, or its fork */
	bool paused;
	bool chosen;  /* the user chose the range: scales[0] is the only one */
	size_t scales_n;
	struct mw_scale scales[MW_SCALES_MAX]; /* shortest first; all end now, unless chosen */
	const struct mw_history *history;      /* for its events; may be NULL */
	const struct mw_helds *held;           /* earlier proofs; NULL: none */
	/* why no proof of what is kept can be had, for a sentence; NULL: one is made when a verdict names a suspect */
	const char *no_proof;
	const struct mw_object_stay *stays; /* in no order */
	size_t stays_n;
	double gc_disabled; /* uptime at which GC was found to be disabled, the last time; 0: it wasn't */
	const struct mw_accused *accused; /* NULL: nothing is told yet */
};

struct mw_verdict_location {
	const char *location; /* in the evidence */
	uint32_t len, file_len;
	enum mw_kind kind;
	double change; /* bytes in the window */
	double share; /* of the change of all live memory, 0 to 1 */
};

/* A location in the evidence. */
struct mw_verdict_suspect {
	const char *location;
	uint32_t len;
};

/* Lines of one file, or of one gem, which grow together. */
struct mw_verdict_spread {
	const char *name; /* in the evidence: a path, or a gem's name and version */
	uint32_t len, lines;
	double share; /* of the change of all live memory, 0 to 1 */
};

/* The line that made most of the objects that stay: mw_made_find. */
struct mw_verdict_made {
	uint32_t line, samples; /* samples 0: not known */
	struct mw_verdict_location at; /* `location` NULL: whoever knows the line's name sets it, len, file_len and kind */
	double error; /* of at.share: two standard deviations */
	const char *classes[2]; /* in the evidence; NULL: none */
	const char *owner; /* refers to most of them: "Audit::LOG, an Array"; NULL: not known. As the name */
};

/* The endpoint or job that has most of a line's bytes. */
struct mw_verdict_label {
	const char *name; /* NULL: not known, or none has most of them */
	double share, error; /* 0 to 1; two standard deviations */
	uint32_t samples; /* of the line */
};

/*
 * A location that grows by itself, however little. The sentence, the table and the location's page have
 * it from here, so they agree.
 */
struct mw_grower {
	struct mw_verdict_location at; /* `change`: since then; `share`: 0 */
	double since, rate; /* bytes a second */
};

struct mw_verdict {
	enum mw_verdict_kind kind;
	bool growing; /* the reader should act */
	double from, to; /* range looked at */
	double since; /* begin of the present course */
	double begun; /* FILLED, GREW, STEP: begin of the change */
	double rate; /* bytes a second; 0 unless it moves */
	double change; /* bytes: by this course, or by the change that ended */
	double level, high; /* SAWTOOTH: floor and peak; else level now */
	double confidence; /* 0 to 1 */
	unsigned watch; /* seconds until the first verdict; 0: this is one */
	bool at_location; /* the rate is that of locations[0] alone */
	bool stopped; /* FILLED: the line that made live memory grow has stopped; the rest may go on */
	bool at_once; /* a growth that is told, or may have been, has stopped */
	bool unsteady; /* GREW: now and then, and it hasn't ended for long */
	double in_start; /* unsteady: bytes that RSS rose by in the process's first minute, if that is told of */
	bool unproven; /* GROWS: by one line that never fell; collections haven't proven it yet */
	enum mw_rss_part part; /* that moves most */
	enum mw_rss_part rate_of; /* the rate's owner, unless at_location: RSS, LIVE or HEAP */
	double now[MW_PARTS_N], moved[MW_PARTS_N]; /* bytes now, change in the window; NaN: not known */
	size_t n;
	struct mw_verdict_location locations[MW_VERDICT_LOCATIONS]; /* most change first */
	size_t suspects_n; /* for a proof to look at: see mw_verdict_wants_proof */
	bool provable; /* one would know of half of the growth */
	struct mw_verdict_suspect suspects[MW_VERDICT_SUSPECTS];
	size_t growers_n;
	struct mw_grower growers[MW_GROWERS]; /* fastest first; of more, the fastest */
	struct mw_verdict_made made; /* of Ruby's heap, if it moves */
	struct mw_verdict_spread file, gem; /* with most of the growth; lines 0: none */
	struct mw_verdict_label label; /* of mw_verdict_at; whoever knows the labels sets it */
	double kept; /* the part of the growth of live memory that is kept, by proof; NaN: there is none */
	double at_kept; /* likewise, of the growth of locations[0] */
	const struct mw_held *held; /* the last proof of locations[0]; NULL: none */
	struct mw_held_heap reached; /* the last proof of Ruby's heap; t is 0: there is none */
	const char *no_proof; /* why there is none, and none will be; NULL: there is one, or one is to come */
	bool awaits; /* UNCOLLECTED: a proof is to come */
	unsigned kept_lines; /* GROWS: so many lines rise that keep it, beneath memory that comes and goes; 0: all does */
	unsigned doubled; /* GROWS: locations[0] doubled so often; 0: it is no such stair */
	double count, count_gain; /* THREADS, DESCRIPTORS: now, and in the window */
	bool same_threads; /* STACKS: no more threads than before have them, and Ruby runs */
	double idle; /* DISABLED: seconds since the last collection */
	bool disabled; /* DISABLED: GC.disable was seen; else it is likely */
	double spike, spike_end; /* SPIKE: bytes above what is live now; when it was over, uptime */
	struct mw_reach reach; /* when the limit is reached; whoever knows the limits sets it: mw_reach_find */
	const struct mw_event *event; /* the user's action when it began; NULL: none */
};

/* 0; -1: no memory. */
int mw_verdict_make(struct mw_verdict *, const struct mw_evidence *);

/* The kind as in JSON: "grows". */
const char *mw_verdict_name(enum mw_verdict_kind);
/* Is it a kind of growth that the reader should act on? */
bool mw_verdict_grows(enum mw_verdict_kind);
/* Is a quarter of RSS, and 16 MiB, free memory in malloc's arenas? */
bool mw_verdict_much_free(const struct mw_verdict *);
/* Should a proof look at its locations? */
bool mw_verdict_wants_proof(const struct mw_verdict *);
/* One sentence, with a full stop, and what to do next, or "". Both are valid UTF-8. */
void mw_verdict_sentence(struct mw_buf *, const struct mw_verdict *);
void mw_verdict_next(struct mw_buf *, const struct mw_verdict *);
/* How the sentence names a location: the file's last part and the line. */
void mw_verdict_short(struct mw_buf *, const struct mw_verdict_location *);
/* The location of what the sentence tells; NULL: it names none. */
const struct mw_verdict_location *mw_verdict_at(const struct mw_verdict *);
/*
 * Sets the label, if it has most of the line's bytes for sure: share is an estimate from so many samples, and fewer than
 * MW_LABEL_SAMPLES say nothing.
 */
enum { MW_LABEL_SAMPLES = 30 };
void mw_verdict_label(struct mw_verdict *, const char *name, double share, uint32_t samples);
/* Does it tell of a line whose label is worth a look? */
bool mw_verdict_wants_label(const struct mw_verdict *);
/* Lines of one file, or gem, that the sentence names instead of one line; NULL: it doesn't. */
const struct mw_verdict_spread *mw_verdict_together(const struct mw_verdict *);
/* The location that grows beside what the sentence tells, which names it, too; NULL: none does. */
const struct mw_grower *mw_verdict_beside(const struct mw_verdict *);
/* Is that little of RSS? */
bool mw_verdict_is_slow(const struct mw_verdict *, const struct mw_grower *);
/* Members of a JSON object, without its braces: kind to locations. */
void mw_verdict_json(struct mw_buf *, const struct mw_verdict *);

#endif
