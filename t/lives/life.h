/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * life.h - a made-up process, of which all is known: what grows, since when, who keeps it.
 *
 * A life is a process (lines that allocate, Ruby's collector, malloc's arenas) and one to five parts
 * that act on it second by second. t/lives/README says how it is judged. Times are seconds since the
 * life's begin, sizes bytes.
 */
#ifndef LIVES_LIFE_H
#define LIVES_LIFE_H

#include "../../src/server/history/history.h"
#include "../../src/server/verdict/held.h"
#include "../../src/server/verdict/verdict.h"
#include "chance.h"

#define KB 1024.0
#define MB (1024.0 * 1024)
#define NEVER 1e12

enum {
	LINES_MAX = 120,
	PARTS_MAX = 5,
	STEP = 5, /* seconds between two values of a line that are kept: as the curves' */
	LIFE_MAX = 6 * 3600
};

struct life;

/* A location that allocates. */
struct line {
	char name[120], owner[60];
	uint32_t file_len;
	enum mw_kind kind;
	int part;      /* that owns it; -1: the app itself */
	bool app;      /* the app allocates there, too */
	double block;  /* bytes of one block */
	double slots;  /* bytes of Ruby's heap for a byte of malloc */
	bool collects; /* what it drops waits for a collection; else it is freed at once */
	bool mapped;   /* large blocks: each has a mapping of its own */
	/* bytes now: in use; that nothing leads to; garbage for any collection, and for a major one;
	 * garbage that is being swept */
	double kept, lost, young, old, dying;
	double untouched; /* of these, not in RAM yet */
	double base;  /* bytes that it keeps from the start on */
	double churn; /* bytes of garbage a second, at a load of 1 */
	double ages;  /* of that, the part that becomes old before it is garbage: 0 to 1 */
	double dropped; /* bytes that were kept, and aren't any more */
	double dropped_born; /* what went last was born then, or later */
	float *live_then, *kept_then, *dropped_then, *born_then; /* each STEP seconds; kept with lost */
};

/* Ruby's collector. All zero: there is no Ruby. */
struct gc {
	bool ruby;
	double off_from, off_until; /* GC.disable */
	double manual_every; /* GC.start; 0: nobody calls it */
	double old_share; /* of what is garbage soon, that Ruby counts as old */
	double compacts_every; /* GC.compact; 0: never */
	double malloc_max, old_max; /* where the limits end: RUBY_GC_MALLOC_LIMIT_MAX and its like */
	double malloc_inc, malloc_limit, old_inc, old_limit;
	bool wants_major;
	uint32_t gcs, majors, majors_done, minors_since;
	double last, sweep_until, next_manual;
	/* Ruby's heap: bytes of slots */
	double kept, young, old, dying, pages, limit, old_at_major;
	uint32_t *gcs_then; /* each second */
};

/* The parts of a moment's RSS, beside the lines. */
struct memory {
	bool glibc;
	double boot; /* seconds */
	double objects; /* in Ruby's heap from the start on, without memory of malloc */
	double fragments; /* of the arenas, that live memory can't fill: 0 to 1 */
	double gives; /* of what is freed at once, that malloc gives back: 0 to 1 */
	double arenas, used; /* resident, and live in them */
	double wasted; /* of the arenas, for good */
	double decay; /* of what is free in them, that goes back each second: 0 to 1 */
	double anon, files, stacks, tracker;
	double threads, fds;
	double noise, drift;
	/* the last reading of smaps */
	double read_t, read_arenas, read_anon, read_stacks, read_rss;
};

/* The load: a factor around 1. */
struct load {
	enum { STEADY, BURSTS, DAY, RAMP, IDLE } form;
	double period, depth, phase;
};

/* The verdicts that are right about a part's growth. */
#define IS(k) (1u << MW_VERDICT_##k)

struct part;
struct part_kind {
	const char *name;
	double weight; /* how often it is drawn */
	unsigned right; /* the kinds of verdict that are right while it grows; 0: none is, nothing is kept */
	/*
	 * LEAKS: it should be told. FILLS: it may be told while it goes on, since nobody can know that it will end.
	 * RESTS: it must not be accused.
	 */
	enum { LEAKS, FILLS, RESTS } truth;
	bool ruby; /* needs Ruby */
	void (*draw)(struct life *, struct part *);
	void (*second)(struct life *, struct part *, double t);
	/* A proof can see the memory of its growth: a line can be told only after one. */
	bool by_line;
};

struct part {
	const struct part_kind *kind;
	double from, until; /* it grows, or acts, between these */
	unsigned right; /* as its kind says, or more */
	double rate; /* bytes a second, or what its kind says */
	double size, period, lasts, factor;
	double state, next;
	struct line *lines[12];
	size_t lines_n;
	double grown; /* bytes of RSS or live memory by now, that are kept */
	double count; /* threads, descriptors */
	double disturbs; /* until then all memory moves by what it does */
	bool steps; /* grows in steps, `period` apart at most */
	unsigned stepped; /* so often */
	double swing; /* what comes and goes of what it keeps */
	double garbage_max, heap_from;
	double rss_max, rss_fell; /* since it began: the highest RSS, and the most that it fell from there */
	uint32_t majors_from; /* collections before it */
	double ready; /* it has grown enough to be seen; NEVER: not yet */
	float *grown_then; /* each STEP seconds */
	float *count_then;
};

struct life {
	uint64_t seed, nth;
	struct chance chance;
	double starts; /* uptime at its begin: a forked child's */
	double lasts;
	bool child;
	bool proves;
	size_t lines_n, parts_n;
	struct line lines[LINES_MAX];
	struct part parts[PARTS_MAX];
	struct gc gc;
	struct memory memory;
	struct load load;
	double load_now;
	double rss;
	float *rss_then, *kept_then; /* each second; what all lines keep */
	float *garbage_then, *free_then, *anon_then, *heap_then, *heap_kept_then,
		*stacks_then; /* each STEP */
};

/* draw.c */
/* only: the name of a part that it must have; NULL: any */
void life_draw(struct life *, uint64_t seed, uint64_t nth, const char *only);
void life_free(struct life *);
bool life_has_kind(const char *part);
struct line *life_line(struct life *, struct part *, const char *file, bool ruby);
/* A line of Ruby's, or of a library's; of the app's own, at times. */
struct line *any_line(struct life *, struct part *);
const char *life_file(struct life *); /* the name of a file by chance */

/* process.c */
void life_second(struct life *, double t, struct mw_point *);
double line_live(const struct line *);
/* Bytes that stay. */
void line_keep(struct life *, struct line *, double bytes);
/* Drops kept bytes that were born then. */
void line_drop(struct life *, struct line *, double bytes, double born);
/* Bytes that are garbage at once. */
void line_churn(struct life *, struct line *, double bytes);

/* leaks.c */
void draw_steady(struct life *, struct part *);
void draw_string(struct life *, struct part *);
void keep_steadily(struct life *, struct part *, double t);
/* caches.c */
void draw_lru(struct life *, struct part *);
void let_go(struct life *, struct part *, double bytes, double born);

/* draws.c: what many parts draw */
/* Bytes a second that make up for 1 MB at least, and 1 GB at most, until the life's end. */
double draw_rate(struct life *, const struct part *);
/* This second's bytes of a part that grows steadily, or as the load does. */
double steady(struct life *, const struct part *, double t);
bool is_active(const struct part *, double t);
void name_owner(struct life *, struct line *);

/* gc.c */
void gc_begin(struct life *);
void gc_second(struct life *, double t);
bool gc_is_off(const struct life *, double t);

/* leaks.c, counted.c, caches.c, moves.c, others.c, traps.c: all kinds of parts, NULL at the end */
extern const struct part_kind leaks[], leaks_counted[], caches[], moves[], others[], traps[];
#define KINDS_MAX 64
extern const struct part_kind *part_kinds[KINDS_MAX];
extern size_t part_kinds_n;

/* known.c: what is true at a time */
double then_at(const float *v, double t); /* of those each STEP seconds */
void known_second(struct life *, double t);

#endif
