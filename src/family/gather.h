/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h - every process of a family is asked the same, at once, the own one
 * too, and what they say is put side by side. For answer.c and list.c.
 */
#ifndef MW_FAMILY_GATHER_H
#define MW_FAMILY_GATHER_H

#include "pages/pages.h"
#include "ask.h"
#include "family.h"

/* The header of a request that another process hands on: where "/" is mounted, and a slash. */
#define MW_RELAYED "X-Mwrap-Relayed"

/*
 * The header of a request whose answer can't be followed by a POST: pages are without
 * controls. It says what a POST is answered.
 */
#define MW_NO_POST "X-Mwrap-No-Post"

/* One process, whether it answered or not. */
struct mw_reply_of {
	long pid;   /* 0: not known, as it didn't answer */
	int error;  /* errno, EPROTO for another version's; 0: it answered */
	bool owner; /* it has the family's path */
	char socket[MW_SOCKET_PATH]; /* where it was asked; "": this process */
	struct mw_wire wire; /* owned */
};

struct mw_gathered {
	struct mw_reply_of *replies; /* owned; by PID, each once */
	size_t n;
	struct mw_part *parts;   /* owned; those that answered */
	size_t answered;
};

/*
 * Asks all for their tables. at: of MW_WIRE_AT, percent-encoded. Sockets on which nobody listens
 * are no replies. 0, or -1: no memory.
 */
int mw_gather(struct mw_gathered *, const struct mw_family *, const struct mw_api *, enum mw_wire_what,
	      const char *at);
void mw_gathered_free(struct mw_gathered *);

/*
 * Asks those that answered, but this process, for a target, with the headers of
 * `req` in names (NULL ends them). asks: of g->n elements; the i-th is of the i-th
 * voice, and its socket NULL if that wasn't asked. End each that was with mw_ask_free().
 */
void mw_ask_for_replies(struct mw_ask *asks, const struct mw_gathered *g, const struct mw_family *,
			const char *method, const char *target, const struct mw_request *req,
			const char *const *names);

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

/* scrape.c: GET /all/metrics. req: what each is asked for, "/metrics" and its query */
void mw_page_all_metrics(struct mw_call *, const struct mw_family *, const struct mw_request *req);

#endif
