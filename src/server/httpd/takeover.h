/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * takeover.h - decides which process listens on a family's path, over time.
 *
 * The first process listens, although a child that it forked early may look before it does. When it
 * ends or is killed, another one takes the path over: one with Ruby within a second, else one without
 * within two. A forked child whose parent lives waits twice as long, so the eldest goes first. There are
 * never two: a takeover takes the lock of socket_lock.h.
 *
 * A process without Ruby hands over to the first one with Ruby; an entrypoint's shell does, for
 * example. A forked child leaves that to its parent for five seconds. The process with Ruby requests
 * the path in the lock's file. The shell opens a socket of its own and releases the lock. It answers
 * on its old socket for another second, in which the other process puts its own in place.
 *
 * The port of `listen` goes with the path: the new owner opens it, with the same number.
 *
 * The server's thread only, except mw_takeover_child().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* This process shares `path`, absolute. l: its listener there, or at a path with its PID added. */
struct mw_listener;
void mw_takeover_begin(const char *path, struct mw_listener *l);

/* Does what is due. Returns ms to the next look; -1: never. */
int mw_takeover_look(uint64_t now);

/* The shared path; "": none. */
const char *mw_takeover_path(void);

/*
 * True if this process logs what concerns the family: it has the path, or no path is shared and no
 * ancestor served.
 */
bool mw_takeover_speaks(void);

/*
 * True if this process must open the port as it starts. *known: the number that it had before an
 * exec; 0: none. It then passes the listener to mw_takeover_port(); NULL: it failed, and logged
 * why.
 */
bool mw_takeover_has_port(uint16_t *known);
void mw_takeover_port(struct mw_listener *l);

/* The process ends: removes what dead relatives left. */
void mw_takeover_cleanup(void);

/* Closes the watched lock's file and forgets the path. */
void mw_takeover_end(void);
/* The same in a forked child: system calls only. */
void mw_takeover_child(void);
