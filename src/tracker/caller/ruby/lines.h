/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines.h - shared by lines.c, which finds a line, and chain.c, which finds its callers. */
#pragma once

#include <string.h>

#include "look.h"

/* Is it Ruby's own code, written in Ruby? */
static inline bool mw_ruby_is_internal(const char *path)
{
	return strncmp(path, "<internal:", 10) == 0;
}

/* The running line's location, without callers, also by a miss. Where mw_ruby_reads(). */
uint32_t mw_ruby_locate_line(struct mw_shard *t);

/*
 * May the pc of this frame be cached? Only if the tracker will see the free of the block with its
 * instructions: then this flags the block.
 */
bool mw_ruby_flag_code(struct mw_shard *t, const char *cfp);
/* Learns from a frame at this location which file Ruby read its path from. */
void mw_ruby_learn_file(uint32_t id, mw_value frame);
/* The line of a pc is known: counts that wait for it are its own from here on. */
void mw_ruby_line_known(uintptr_t pc, const char *path, uint64_t line);
/* Verifies the whole stack now and then. With the GVL, outside GC. */
void mw_ruby_verify_now_and_then(struct mw_shard *t);
