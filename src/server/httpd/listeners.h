/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listeners.h - the sockets that the server listens on. unix_socket.c and tcp.c open them.
 *
 * The server's thread only, except mw_listeners_unlink(), and what is for a forked child. See
 * server_state.h for the rules that let a child find the descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "socket_lock.h"

/* socket or socket_dir, the path of `listen`, its port, a path taken over, a path handed over */
#define MW_LISTENERS_MAX 6

/* Waiting clients cost us nothing; a full queue fails clients that connect without blocking. */
#define MW_BACKLOG 1024

struct mw_listener {
	int fd; /* -1: not open */
	bool tcp;
	uint64_t paused_until;  /* ms; accept ran out of descriptors */
	struct sockaddr_storage addr; /* the local address of accepted sockets */
	socklen_t addr_len;
	struct mw_socket_lock socket_lock; /* of a Unix socket */
};

/* Returns a slot that was never used; NULL: none is left. It is the same one until it is added. */
struct mw_listener *mw_listeners_slot(void);
/* Adds the listener in that slot, which is open now. */
void mw_listeners_add(void);
/* True if one of ours has this path. */
bool mw_listeners_have(const char *path);
/* Accepts connections at l from now on, or at all. Return 0, or -1 with errno. */
int mw_listener_watch(struct mw_listener *l);
int mw_listeners_watch(void);
/* The listener that an event of the loop is about; NULL: none. */
struct mw_listener *mw_listeners_of(void *about);
/* Stops accepting for a while: no descriptor is free. */
void mw_listener_pause(struct mw_listener *, uint64_t now);
/* Resumes those whose pause is over. Returns ms to the next; -1: none. */
int mw_listeners_resume(uint64_t now);
/* Closes a listener whose path or port was handed over; its connections go on. */
void mw_listener_end(struct mw_listener *);
/* Closes all that are provably ours, and removes their files. Within mw_moves_begin(). */
void mw_listeners_close(void);

/* Removes our socket files and their locks. Any thread; the first call does it. */
void mw_listeners_unlink(void);
/* The port in a listener's or a connection's address. */
uint16_t mw_listener_port(const struct sockaddr_storage *);
/* True if fd is a socket bound to the address of one of our listeners. */
bool mw_listeners_own(int fd);

/* In a forked child: passes each inherited socket to close_it, and closes the locks. */
void mw_listeners_inherited(void (*close_it)(int fd));
/* In a forked child: there are none. */
void mw_listeners_child(void);
