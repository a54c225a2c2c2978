/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - the one symbol of libmwrap_record.so, which writes recordings to files.
 *
 * The tracker loads it in a thread of its own when a recording begins, and calls run() there: all
 * signals blocked, in quiet mode, 512 KiB of stack. run() opens the file, begins the recording unless it
 * began already, and writes events until somebody says stop, or a limit is reached. One runs in a process at
 * a time. Its memory is mappings of its own, but for names and texts, which are short-lived.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "shared/options/options.h"

#define MW_RECORD_VERSION 2u

/* See tracker/track/events.h. */
struct mw_record_piece {
	const uint64_t *words;
	size_t n;
	uint32_t stream; /* from 1 on */
	uint32_t lost;
	void *whole;
};

/* The tracker's functions for it: the recorder's thread calls them. */
struct mw_record_source {
	/* False: no memory for buffers, or a recording before this one never ended. */
	bool (*begin)(bool fine, bool wait);
	/* Events end here. False: a thread is still on its way; this process can't be recorded again. */
	bool (*end)(void);
	bool (*take)(struct mw_record_piece *, bool partly);
	void (*done)(const struct mw_record_piece *);
	uint64_t (*dropped)(void); /* events, since the beginning */
	uint64_t (*counter)(void); /* the processor's, in ticks */
	void (*clock)(uint32_t ticks); /* sets the coarse clock */
	uint32_t (*shown)(uint32_t id); /* the location whose row has this one's name */
	uint64_t (*pages)(const void *p, uint64_t bytes); /* in memory */
};

struct mw_record_job {
	const struct mw_api *api;
	const struct mw_record_source *source;
	const char *path; /* without %p; absolute */
	const char *allocator_version; /* "" if it isn't known */
	uint64_t size_max, seconds_max; /* 0: no limit */
	bool fine, wait; /* a fine clock; threads wait for the disk */
	uint32_t tail; /* bytes that the tracker asks for in addition to the application's */
	/*
	 * It asks for none if a block has `untailed` bytes or more, and its size is a power of two, or n times 128 or 1,024
	 * with bit n - 1 set here. untailed 0: each block has a tail.
	 */
	uint32_t untailed;
	uint64_t untailed_128, untailed_1024;
	bool begun; /* events flow already */
	int file; /* for a call that goes on: a descriptor of the file, the job's from now on; -1: it is opened again */
	bool own_descriptors; /* the thread has a table of its own: no other thread can close the file */
	uint64_t begin_ns, begin_ticks; /* the same moment by CLOCK_MONOTONIC and by the counter */
	void (*loaded)(void); /* called once, when no library is loaded any more */
	const uint32_t *stop; /* futex: 1: stop, 2: the process exits, 3: leave; acquire */
	struct mw_record_state *state; /* written by the recorder's thread */
};

struct mw_record_api {
	uint32_t version; /* MW_RECORD_VERSION */
	/*
	 * Returns false when the recording has ended, and the file is closed. True: it left in the middle. Then the
	 * next call goes on: `on` is true, and the job is the same but for own_descriptors and file.
	 */
	bool (*run)(const struct mw_record_job *, bool on);
};

extern const struct mw_record_api mwrap_record __attribute__((visibility("default")));
