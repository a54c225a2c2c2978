/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_read.h - the stacks and samples themselves, for profile.c. With the lock of stacks.h. */
#pragma once

#include "stacks.h"

struct mw_stack_sums {
	uint64_t hash;
	uint32_t id;     /* the location, as the samples found it; 0: this stack is no more */
	uint32_t since;  /* mw_callsite.since of its tenant then */
	uint32_t node;   /* innermost; 0: none, what didn't fit */
	uint32_t deaths; /* up to these, no frame of it has died */
	uint32_t next;
	uint32_t samples;     /* since the reset */
	double bytes, blocks; /* that these stand for */
	uint32_t live;        /* samples that live: counted where it is asked for */
	double ever; /* bytes of all samples since the start; a first stack counts as one byte */
	uint32_t held; /* by samples of objects. Relaxed; it rises with the lock alone */
	uint32_t object_samples; /* those that stay, and what they stand for */
	double objects, object_bytes;
	bool lacks_text;
	bool dead; /* some frame of it died */
};

struct mw_stack_sample {
	uint64_t where; /* these three as the record has them while the block lives */
	uint32_t size, generation;
	uint32_t ref;   /* 0: free */
	uint32_t stack;
	uint32_t next;
	uint32_t born;  /* seconds since the tracker's start */
	uint64_t rate;
	bool code;
};

uint32_t mw_stacks_n(void); /* one past the last */
struct mw_stack_sums *mw_stack_at(uint32_t i);
uint32_t mw_stack_samples_n(void);
struct mw_stack_sample *mw_stack_sample_at(uint32_t i);
/* Is its block still live? */
bool mw_stack_sample_lives(const struct mw_stack_sample *);
/* The frame of a node, and its parent. */
uint32_t mw_stack_node(uint32_t node, uint32_t *parent);
