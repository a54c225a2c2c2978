/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h - every process of a family is asked the same, at once, the own one
 * too, and what they say is put side by side. For answer.c and list.c.
 */
#ifndef MW_FAMILY_GATHER_H
#define MW_FAMILY_GATHER_H

#include "../pages/pages.h"
#include "family.h"

#define MW_RELAY_MS 10000u /* for one page of one process, which may have much to say */

/* The header of a request that another process hands on: where "/" is mounted, and a slash. */
#define MW_RELAYED "X-Mwrap-Relayed"

/* One process, whether it answered or not. */
struct mw_voice {
	long pid;   /* 0: not known, as it didn't answer */
	int error;  /* errno, EPROTO for another version's; 0: it answered */
	bool owner; /* it has the family's path */
	char socket[MW_SOCKET_PATH]; /* where it was asked; "": this process */
	struct mw_wire wire; /* owned */
};

struct mw_gathered {
	struct mw_voice *voices; /* owned; by PID, each once */
	size_t n;
	struct mw_part *parts;   /* owned; those that answered */
	size_t answered;
};

/*
 * Asks all for their tables. at: of MW_WIRE_AT, percent-encoded. Sockets on which nobody listens
 * are no voices. 0, or -1: no memory.
 */
int mw_gather(struct mw_gathered *, const struct mw_family *, const struct mw_api *, enum mw_wire_what,
	      const char *at);
void mw_gathered_free(struct mw_gathered *);

struct mw_did {
	size_t asked, done;
	int status;        /* 200 if one did it, else what the first one answered */
	struct mw_buf said; /* owned; a line without a newline, NUL-terminated */
};

/* Has all do what a POST of `rest` does, with the request's headers. 0, or -1: no memory. */
int mw_all_do(struct mw_did *, const struct mw_family *, const struct mw_api *,
	      const struct mw_request *, const char *rest);

/* list.c: GET /family */
void mw_page_family(struct mw_call *, const struct mw_family *, enum mw_form);

#endif
