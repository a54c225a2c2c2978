/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h - requests of mwrapctl(1) to this process by a file.
 *
 * The directory is /tmp/mwrap-UID: this process's effective user owns it, and nobody else may enter it.
 * Else nothing in it is read. The files are named by PID, start time and PID namespace, so that
 * no other process of that number takes a request that was meant for this one, and that only who sees this process tells
 * that it has ended:
 *
 *   attach-PID-TICKS-NS.ask      written by mwrapctl: "start\nOPTIONS" or "stop\n"
 *   attach-PID-TICKS-NS.taken    the same, once this process has renamed it
 *   attach-PID-TICKS-NS.answer   written by this process: "ok" or a line that says why not
 *
 * Either mwrapctl removes .ask, and the request was never made, or this process renames it, and answers.
 * Its owner is this user or root, and nobody else may read it.
 *
 * Threads: any, one at a time. No locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MW_REQUEST_MOST = 4096, MW_REQUEST_NAME = 96 };

struct mw_request {
	int dir; /* open until the answer */
	char name[MW_REQUEST_NAME]; /* up to the dot */
	bool stop;
	char options[MW_REQUEST_MOST];
};

/*
 * When this process started, in the kernel's ticks since the machine's start; 0: /proc doesn't say. In any time
 * namespace it is the same number.
 */
uint64_t mw_start_ticks(void);
/* By how many seconds CLOCK_BOOTTIME is ahead of the machine's in this time namespace. */
int64_t mw_boot_offset_s(void);

/* Is there one? Else nothing needs to be loaded to take it. */
bool mw_request_there(void);
/* False: there is none, or none that may be taken. True: answer it. */
bool mw_request_take(struct mw_request *);
/* Once for each that was taken. A file that can't be written is no error: mwrapctl has a limit. */
void mw_request_answer(struct mw_request *, const char *line);
