/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - the process's memory over time, its parts, and what was done to it.
 *
 * Three grids of fixed size: a point a second for the last 15 minutes, one a minute for the last 24
 * hours, and the whole time since the start. The last one begins with a point in two minutes. When
 * it is full, every second point goes and the step doubles, so it stays even. 180 kB together,
 * nothing is allocated. All zero at first. Times are seconds of uptime and only go forward:
 * mw_history_add() drops a point that isn't later than the last one. Seconds without a point (a
 * stopped process) are missing.
 *
 * Not thread-safe: the owner of the struct makes all calls.
 */
#pragma once

#include <stdint.h>

#include "shared/report/report.h"

enum {
	MW_FINE_N = 15 * 60,
	MW_COARSE_N = 24 * 60,
	MW_COARSE_STEP = 60, /* seconds */
	MW_LONG_N = 720,     /* even */
	MW_LONG_STEP = 120,  /* seconds, at first */
	MW_MARKS_N = 32,
	MW_EVENTS_N = 64,
	MW_EVENT_TEXT = 80 /* bytes of an event's text, without the NUL */
};

#define MW_KIB_UNKNOWN UINT32_MAX

/* Sizes in KiB; MW_KIB_UNKNOWN: not known. parts.h says how the parts are found. */
struct mw_point {
	uint32_t t; /* whole seconds of uptime */
	uint32_t rss;
	/* the parts of rss; they needn't add up to it: some live memory was never touched */
	uint32_t live;    /* malloc'ed, as the table counts it */
	uint32_t heap;    /* Ruby's heap pages */
	uint32_t files;   /* mapped files and shared memory */
	uint32_t tracker; /* the tracker's own */
	uint32_t free;    /* free memory in malloc's arenas */
	uint32_t anon;    /* other anonymous memory: mmap, static data */
	uint32_t stacks;
	/* no sizes: Ruby's major collections since its start; MW_KIB_UNKNOWN: not known */
	uint32_t majors;      /* that began */
	uint32_t majors_done; /* that surely freed what they could */
	/* likewise no sizes */
	uint32_t gcs;     /* collections of any kind since Ruby's start: GC.count */
	uint32_t threads; /* now; counts.h */
	uint32_t fds;     /* open descriptors now */
};

/* Kinds: mark, reset, trim, pause, resume, fork, annotation. */
struct mw_event {
	double t; /* uptime in seconds */
	char kind[12];
	char text[MW_EVENT_TEXT + 4]; /* valid UTF-8, NUL-terminated; "" if there is nothing to say */
};

struct mw_history {
	uint32_t fine_n, coarse_n, marks_n, events_n; /* ever added; the rings keep the last ones */
	uint32_t long_n, long_step; /* points in whole[], from whole[0] on; step 0: none yet */
	struct mw_point fine[MW_FINE_N], coarse[MW_COARSE_N], whole[MW_LONG_N];
	double marks[MW_MARKS_N]; /* uptime in seconds */
	struct mw_event events[MW_EVENTS_N];
};

/* Bytes, rounded to KiB; 4 TiB at most. */
uint32_t mw_kib(uint64_t bytes);

/* The point of each minute with the lowest RSS goes to `coarse`, too; that of each long step to `whole`. */
void mw_history_add(struct mw_history *, struct mw_point);
/* The last point; NULL: none yet. */
const struct mw_point *mw_history_last(const struct mw_history *);
/* Adds the mark's time to marks[]; the event is added separately. */
void mw_history_mark(struct mw_history *, double uptime);
/* text: valid UTF-8 or NULL; what is longer than MW_EVENT_TEXT bytes is cut between characters. */
void mw_history_event(struct mw_history *, double uptime, const char *kind, const char *text);

/* A grid in order of time. */
struct mw_history_grid {
	const struct mw_point *points;
	uint32_t size, first, n;
	uint32_t step; /* seconds */
};
const struct mw_point *mw_history_at(const struct mw_history_grid *, uint32_t i);
/* The finest grid that reaches back to `from`, or to the first point if that is later. */
struct mw_history_grid mw_history_finest(const struct mw_history *, double from);

/*
 * Appends members of a JSON object: fine, coarse, long, marks, events. `fine`
 * leaves out points older than 15 minutes, `coarse` those older than a day.
 */
void mw_history_render(struct mw_buf *, const struct mw_history *, double now);

struct mw_history_part {
	double from, to; /* uptime */
	uint64_t points; /* at most; not 0 */
};
/*
 * The same, of a part of the time: from, to, first (the first time that is known, or null), t, a
 * column of each part, events. If the finest grid has more points, the time is divided evenly, and
 * the last point of each division is there.
 */
void mw_history_render_part(struct mw_buf *, const struct mw_history *, const struct mw_history_part *);
