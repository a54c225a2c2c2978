/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h - asks every process of a family the same, at once, this one
 * included, and collects the replies.
 */
#pragma once

#include "server/pages/pages.h"
#include "server/marks/grown.h"
#include "ask.h"
#include "family.h"

/* The header of a relayed request: where "/" is mounted, and a slash. */
#define MW_RELAYED "X-Mwrap-Relayed"

/*
 * The header of a relayed request from a client that may not POST: pages have no controls.
 * Its value is the answer to a POST.
 */
#define MW_NO_POST "X-Mwrap-No-Post"

/* One process, whether it answered or not. */
struct mw_reply_of {
	long pid;   /* 0: not known, as it didn't answer */
	uint64_t ns; /* its PID's namespace; 0: not known */
	uint64_t shown; /* the same, if another one has this PID; else 0: see mw_put_process() */
	int error;  /* errno, EPROTO: another version's; 0: it answered */
	bool owner; /* it has the family's path */
	char socket[MW_SOCKET_PATH]; /* its endpoint; "": this process */
	struct mw_wire wire; /* owned */
};

struct mw_gathered;
/* `shown` of this process */
uint64_t mw_own_shown(const struct mw_gathered *);
/* Its facts from /proc, which shows those of this namespace only. */
void mw_reply_facts(const struct mw_reply_of *, struct mw_process_facts *);

struct mw_gathered {
	struct mw_reply_of *replies; /* owned; by PID and namespace, each once */
	size_t n;
	struct mw_part *parts;   /* owned; of the processes that answered */
	size_t answered;
};

/*
 * Asks all for their tables. at: of MW_WIRE_AT the location, percent-encoded, of MW_WIRE_GROWN and
 * MW_WIRE_DIFF the query (server/pages/wire.c). Stale sockets and impostors give no reply. 0, or -1: no memory.
 */
int mw_gather(struct mw_gathered *, const struct mw_family *, const struct mw_api *, enum mw_wire_what,
	      const char *at);
void mw_gathered_free(struct mw_gathered *);

/*
 * Asks those that answered, this process only if `own`, for a target, with the headers of
 * `req` in names (NULL ends them). asks has g->n elements, the i-th for the i-th reply;
 * its socket is NULL if that wasn't asked. End each that was with mw_ask_free().
 */
void mw_ask_for_replies(struct mw_ask *asks, const struct mw_gathered *g, const struct mw_family *,
			const char *method, const char *target, const struct mw_request *req,
			const char *const *names, bool own);

/* answers.c: the answers of all processes to a GET. */
struct mw_answers {
	struct mw_gathered g;
	struct mw_answer *v; /* this process's first, then those that were 200 */
	size_t n;
	/* owned: where the texts are */
	struct mw_response own;
	struct mw_ask *asks;
};

/*
 * Asks this process, then the others, for req, with its headers in names (NULL ends them). own: also asks this
 * process over its socket, and takes that answer, which has what only the site knows. False: the call
 * has its answer: what this process says if that isn't 200, or that there is no memory. Free it if true.
 */
bool mw_answers_get(struct mw_answers *, struct mw_call *, const struct mw_family *,
		    const struct mw_request *req, const char *const *names, bool own);
void mw_answers_free(struct mw_answers *);

struct mw_did {
	size_t asked, done;
	int status;        /* 200 if one did it, else the first one's answer */
	struct mw_buf said; /* owned; a line without a newline, NUL-terminated */
};

/* POSTs `rest` to all, this process first, with the request's headers. 0, or -1: no memory. */
int mw_all_do(struct mw_did *, const struct mw_family *, const struct mw_api *,
	      const struct mw_request *, const char *rest);

/*
 * grown_in_all.c: is a range of time asked for, of which growth is wanted? Then *grown has it, and the query of
 * MW_WIRE_GROWN is appended. A query that is wrong isn't one: the page says why.
 */
bool mw_grown_query(const struct mw_request *, const struct mw_api *, struct mw_grown_of_all *grown,
		    struct mw_buf *query);
/* Adds up what the processes say of that range. False: none knows anything of that time. */
bool mw_grown_parts(struct mw_grown_of_all *, const struct mw_part *, size_t n);

/* list.c: GET /family, and "/" of several processes */
void mw_page_family(struct mw_call *, const struct mw_family *, enum mw_form);

/*
 * overall.c: what all of them say, in one sentence. Returns the process that grows fastest, of g;
 * NULL: none grows. Appends no newline and no NUL.
 */
const struct mw_reply_of *mw_overall_say(struct mw_buf *, const struct mw_gathered *g);
/* Appends "2 of 3 processes are in this sum: 2124 didn't answer within 1.5 s."; nothing if all answered. */
void mw_overall_missing(struct mw_buf *, const struct mw_gathered *g);
/* GET /all/verdict, as a line (MW_FORM_TSV) or JSON */
void mw_page_all_verdict(struct mw_call *, const struct mw_family *, enum mw_form);

/* diff_of_all.c: GET /all/diff.tsv and the like. rest: behind "/diff" */
void mw_page_all_diff(struct mw_call *, const struct mw_family *, const char *rest);

/* map_of_all.c: GET /all/map.json. req: the request to each */
void mw_page_all_map(struct mw_call *, const struct mw_family *, const struct mw_request *req);

/* scrape.c: GET /all/metrics. req: the request to each, "/metrics" and its query */
void mw_page_all_metrics(struct mw_call *, const struct mw_family *, const struct mw_request *req);
