/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commands.h - the commands of mwrap-replay. Each returns an exit status: 0, also if only a part of the file
 * could be read; 1 after one line on stderr, if none of it could.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Merges a recorded file into a packed one. quick: a larger file, in a third of the time. progress: numbers from 0 to 1 on
 * stderr, a line each.
 */
int mw_pack(const char *in, const char *out, bool quick, bool progress);
/* One event a line on stdout, with tabs between its fields. */
int mw_text(const char *in);
/* heaptrack's own text, version 1 of it, on stdout. */
int mw_heaptrack(const char *in);
/* JSON on stdout: what the file has. */
int mw_info(const char *in);
/*
 * What lived where when the live bytes of all these packed files together were most, on stdout: a line of seconds,
 * bytes and blocks, then for each file and location with some a line of bytes, blocks and location, with tabs
 * between. Files go by the time of day. Blocks go with a process that ended. The tracker's own don't count.
 * Seconds are since the first file's beginning. progress: as of mw_pack.
 */
int mw_peak(char **paths, size_t n, bool progress);
/* play: see play.h */

/* One line on stderr: "mwrap-replay: FILE: PROBLEM". Returns 1. */
int mw_complain(const char *path, const char *problem);
/* Says on stderr how it is used. Returns 2. */
int mw_misused(void);
/* Ends the output. Returns 0, or 1 after a line if not all of it was written. */
int mw_finish_output(void);
