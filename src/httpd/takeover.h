/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner.h - who listens on a family's path, over time.
 *
 * The first one that comes does. When it ends, or is killed, another one takes
 * the path over: one with Ruby within a second, one without within two, if
 * none with Ruby did. There are never two: the lock of claim.h is what is
 * taken. A process without Ruby, such as the shell of an entrypoint,
 * gives way to the first one with Ruby, which says in the lock's file that it is there:
 * the shell opens a socket of its own, lets go of the lock, and goes on
 * answering on its old socket for a second, by when the other has put its own in its place.
 *
 * The port of `listen` goes with the path: who takes the path over opens it, with the same number.
 *
 * The server's thread only, but for mw_takeover_child().
 */
#ifndef MW_HTTPD_OWNER_H
#define MW_HTTPD_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* This process shares `path`, absolute. l: its listener there, or beside it. */
struct mw_listener;
void mw_takeover_begin(const char *path, struct mw_listener *l);

/* Looks whether anything is to be done. Returns ms to the next look; -1: never. */
int mw_takeover_look(uint64_t now);

/* What is shared; "": nothing. */
const char *mw_takeover_path(void);

/* Of what is the family's, this process tells: it has the path; or has none, and is nobody's child. */
bool mw_takeover_speaks(void);

/*
 * Shall this process open the port, as it starts? *known: the number that it had before an
 * exec; 0: none. Then it tells what came of it; NULL: nothing, and it was told why.
 */
bool mw_takeover_has_port(uint16_t *known);
void mw_takeover_port(struct mw_listener *l);

/* The process ends: removes what dead relatives left. */
void mw_takeover_sweep(void);

/* Closes what is open for looking. */
void mw_takeover_end(void);
/* The same in a forked child: system calls only. */
void mw_takeover_child(void);

#endif
