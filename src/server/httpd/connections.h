/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connections.h - the clients' connections. See connections.c. The server's thread only, except
 * what is for a forked child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MW_CONNECTIONS_MAX 64

enum mw_conn_phase {
	MW_CONN_WAITING,   /* for a complete request */
	MW_CONN_ANSWERING, /* the answer is being sent */
	MW_CONN_WATCHING   /* the answer is a stream: live.c, relay.c */
};

struct mw_conn {
	int fd; /* -1: slot is free */
	bool tcp;
	bool dropped;           /* shut down; libmicrohttpd will close it */
	uint32_t over;          /* `moves` when the last request, read whole, was answered */
	enum mw_conn_phase phase;
	uint64_t since;         /* ms; when the phase began, or the watcher last read */
	uint64_t turn;          /* grows with each phase of any connection */
};

/* At the start: there are none. Chooses how many there may be. */
void mw_connections_start(void);
/* How many there may be: 4 to MW_CONNECTIONS_MAX. */
unsigned mw_connections_max(void);
/* Drops the connection that is the least useful, for a newcomer. False: all are busy. */
bool mw_connections_drop_one(uint64_t now);
/*
 * Drops connections past their deadline. waits: has the client of this stream read all that it was
 * sent? Returns ms to the next, -1: none.
 */
int mw_connections_expire(uint64_t now, bool (*waits)(const struct mw_conn *));
/* Drops the connection that has been answering longest, except `but`, if it is slow. */
void mw_connections_drop_slow(const struct mw_conn *but, uint64_t now);
/* Forgets all. Also in a forked child. */
void mw_connections_reset(void);
/* In a forked child: passes each inherited descriptor. */
void mw_connections_inherited(void (*close_it)(int fd));

/* The connection with this descriptor; NULL: none. */
struct mw_conn *mw_conn_of(int fd);
/* The connection that an event of the loop is about; NULL: none. */
struct mw_conn *mw_conn_about(void *about);
void mw_conn_phase(struct mw_conn *, enum mw_conn_phase, uint64_t now);
/* Lets the loop see the client's end once; watches a slot's new client again. False: it can't. */
bool mw_conn_hear_of_end(struct mw_conn *);
