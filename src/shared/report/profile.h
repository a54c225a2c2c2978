/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - the callers of locations: stacks, with bytes and blocks that add up to the table's.
 *
 * The tracker samples allocations by bytes, and keeps each sample's stack. A profile is a copy of
 * these stacks, calibrated by the exact counters: the stacks of a location add up to its row, to
 * the byte. So a sum over locations is exact, and what is said about a caller is estimated; the
 * numbers of samples say how well.
 *
 * A location without a sample has a stack of one frame: its own line. So have Ruby's objects that were made there, if
 * none of their samples has a stack.
 *
 * To make one: zero the struct, set snapshot, rate, program, start and now, fill frames, then calibrate the
 * samples. Growth is that since the reset, or `ranged`: then the snapshot's is that of some range of
 * time, and the callers of the growth are known by the samples that were taken in it and still live.
 */
#pragma once

#include "report.h"

/* A frame of a stack. Texts are the profile's; bytes as the system has them, maybe not UTF-8. */
struct mw_profile_frame {
	const char *name; /* "JSON::Ext::Parser#parse", "block in run", "rb_str_resize"; never "" */
	const char *file; /* "/srv/app/a.rb", "/usr/lib/libruby-3.1.so.3.1"; "": not known */
	uint32_t line;    /* of a Ruby frame; 0: not known */
	uint64_t address; /* of a native frame, as it is mapped; else 0 */
	enum mw_kind kind; /* RUBY, NATIVE (C methods, too), SPECIAL: a location such as "(other)" */
};

/* OBJECTS: Ruby's, which stay. Their slots' bytes, and how many, as the row has them. */
enum mw_profile_by { MW_BY_LIVE, MW_BY_TOTAL, MW_BY_OBJECTS, MW_BY_N };

/* One stack of one location. */
struct mw_profile_stack {
	const uint32_t *frames; /* indexes into the profile's frames, innermost first */
	uint32_t depth;         /* at least 1 */
	uint32_t row;           /* index into the snapshot's rows: the location */
	uint32_t label;         /* a frame of the profile whose name it is; 0: none */
	uint64_t bytes[MW_BY_N],
		blocks[MW_BY_N]; /* calibrated: live now; allocated since the reset; objects */
	uint32_t samples[MW_BY_N];                /* that these rest on; 0: the location has none */
	int64_t growth;         /* bytes: live now less live at the reset; ranged: of the range */
	uint32_t born_samples;  /* ranged: that the growth rests on */
};

struct mw_profile {
	struct mw_snapshot *snapshot; /* owned */
	bool one_row; /* the snapshot isn't the tracker's, but a copy of one row of one */
	bool ranged;
	struct mw_profile_frame *frames; /* owned, malloc'ed */
	size_t n_frames;
	struct mw_profile_stack *stacks; /* owned, malloc'ed; by row, then as they came */
	size_t n_stacks;
	uint64_t rate;        /* bytes a sample, now */
	uint64_t samples[MW_BY_N], born_samples; /* the sums of the stacks' */
	const char *program;  /* its file, which pprof shows as the profile's; NULL: not known */
	double start, now;    /* s since 1970: counting since, and the moment of the profile */
	void *memory;         /* of mw_profile_keep */
};

/* A profile's subject. All zero: the whole process, calibrated, with the growth since the reset. */
struct mw_profile_how {
	bool raw;          /* as estimated */
	bool ranged;       /* with the growth of a range of time */
	uint32_t from, to; /* ranged: whole seconds of uptime; `to` is excluded */
	/* ranged: makes the rows' growth that of the range; NULL: it is. False: no memory. */
	bool (*set_growth)(struct mw_snapshot *, const void *ctx);
	const void *ctx;
	const struct mw_row *row; /* only of this location; its text outlives the profile. NULL: of all */
};
/* The profile of the process. False: no memory, and *p is all zero. The caller is quiet, or a thread of ours. */
bool mw_profile_make(struct mw_profile *p, const struct mw_api *, const struct mw_profile_how *);
/* The same of stacks and a later snapshot, p->snapshot, that the caller has. False: no memory; free it. */
bool mw_profile_fill(struct mw_profile *p, const struct mw_stacks *, bool raw);
/* Keeps only the stacks of one label; "(no label)": those that have none. False: no stack has it. */
bool mw_profile_only_label(struct mw_profile *, const char *label);
/* Sets the profile's samples to the sums of its stacks'. */
void mw_profile_sum_samples(struct mw_profile *);
/* Memory for texts and stacks' frames, until mw_profile_free. NULL: no memory. */
void *mw_profile_keep(struct mw_profile *, size_t);
/* All zero again. api: whose the snapshot is, if there is one. */
void mw_profile_free(struct mw_profile *, const struct mw_api *api);

/*
 * The estimates from one stack's samples at one location: a block of `size` bytes, sampled at a rate of
 * R bytes, counts as 1 / (1 - exp(-size / R)) blocks of that size.
 */
struct mw_profile_sampled {
	const uint32_t *frames; /* innermost first; lives as long as the profile: mw_profile_keep */
	uint32_t depth; /* 0: the location's own frame stands for them */
	uint32_t row; /* index into the snapshot's rows; one that isn't there: left out */
	uint32_t label; /* a frame; 0: none */
	double bytes[MW_BY_N], blocks[MW_BY_N]; /* estimated; less than 0 or NaN count as 0 */
	double before; /* estimated bytes live at the reset; 0: not known, or none */
	double born; /* estimated bytes live now that were allocated in the range */
	double ever; /* bytes of all samples, since the start; of a first stack: something small */
	uint32_t samples[MW_BY_N], born_samples;
};

/*
 * Makes the profile's stacks of the samples: scaled so that the stacks of each row add up to the
 * row's total, allocations, live_bytes, live and growth, each exactly. The rest of a division goes to
 * the stacks with the largest remainders; the first of equal ones.
 *
 * A row with live bytes whose samples are all of freed blocks is divided as its total is, and the
 * other way round; `before` as its live bytes. So is a growth that no sample was born of, or that is
 * below 0. A row whose samples have no weight is divided by `ever`, then by its objects, else in equal shares. Objects
 * are divided by samples of objects alone; if there are none, they have the stack of one frame. A stack that gets nothing, and has no sample, is left out. A row without any
 * stack gets one of one frame, which is added to the profile's: its name is the location (of a native
 * one the function's name, if that is known).
 *
 * False: no memory, and the profile has no stacks; free it.
 */
bool mw_profile_calibrate(struct mw_profile *, const struct mw_profile_sampled *, size_t n);
/*
 * The estimates as they are, rounded; objects as above. Rows without a sample have no stack but that of their objects.
 */
bool mw_profile_estimate(struct mw_profile *, const struct mw_profile_sampled *, size_t n);

/*
 * Go's profile.proto, not compressed. Names: alloc_objects, alloc_space, inuse_objects, inuse_space, and
 * ruby_objects and ruby_object_space for Ruby's objects.
 */
void mw_profile_pprof(struct mw_buf *, const struct mw_profile *, enum mw_profile_by by_default);
/* A line for each stack, outermost frame first: "main;run;parse 1234". */
void mw_profile_collapsed(struct mw_buf *, const struct mw_profile *, enum mw_profile_by);
/* A file for speedscope: a profile for live bytes, one for allocated bytes, one for Ruby's objects if there are any. */
void mw_profile_speedscope(struct mw_buf *, const struct mw_profile *, const char *title);

/*
 * The tree of all stacks for the page's flame graph, as members of a JSON object without its
 * braces: see doc in profile_tree_json.c. The page puts start, now and unix in front of them.
 * inverted: innermost frame at the root. row: only this row's stacks, or MW_ROW_ALL.
 * At most `most` nodes, the root included: those with the most bytes. `pruned` in the JSON says how
 * many are left out. Their bytes stay in their parents.
 */
#define MW_ROW_ALL UINT32_MAX
enum mw_profile_figure { MW_VIEW_LIVE, MW_VIEW_TOTAL, MW_VIEW_GROWTH, MW_VIEW_OBJECTS };
struct mw_profile_view {
	enum mw_profile_figure by;
	bool inverted;
	uint32_t row;
	size_t most; /* nodes */
};
void mw_profile_tree(struct mw_buf *, const struct mw_profile *, const struct mw_profile_view *);
/* The same nodes, one by one, parents first. False: no memory, and none was seen. */
struct mw_profile_node {
	const struct mw_profile_frame *frame; /* NULL: the root */
	uint32_t depth;
	int64_t value;
	uint64_t samples;
};
bool mw_profile_tree_each(const struct mw_profile *, const struct mw_profile_view *,
			  void (*see)(void *ctx, const struct mw_profile_node *), void *ctx);
