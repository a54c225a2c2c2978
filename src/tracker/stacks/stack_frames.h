/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_frames.h - the frames of stacks, and their texts. With the lock of stacks.h, but for deaths.
 */
#pragma once

#include "tracker/table/row_lists.h"
#include "stacks.h"

struct mw_stack_frame {
	uint64_t key;
	uintptr_t block;         /* the instructions' block; 0: not known, or not Ruby's */
	uint32_t next, in_block; /* in their lists */
	uint32_t name, file;     /* texts; 0: none */
	uint32_t line;
	bool dead, used; /* used: for mw_frames_sweep */
};

/* The living frame of that key, added if it is missing; 0: no room. */
uint32_t mw_frame_take(uint64_t key);
/* Has nobody given it its name yet? */
bool mw_frame_waits(const struct mw_stack_frame *);
struct mw_stack_frame *mw_frame_at(uint32_t i);
uint32_t mw_frames_n(void); /* one past the last */
/* A text's bytes, with a NUL behind them; 0 gives "". */
const char *mw_frame_text(uint32_t text, size_t *n);
/* Gives a frame its texts: name and file may be empty. */
void mw_frame_put(uint32_t i, const struct mw_frame_text *);

/* Makes more lists where they are crowded. */
void mw_frames_fit(void);

/* The frames whose instructions are in the block at `start` die, and return addresses in it. */
void mw_frames_die(uintptr_t start, uint64_t bytes, bool native);
void mw_frames_die_all(void); /* all frames of Ruby's code */
/* Gives back the frames that aren't `used`, and sets that to false. Returns how many. */
uint32_t mw_frames_sweep(void);
/* How often some frame died so far. */
uint32_t mw_frame_deaths(void);
