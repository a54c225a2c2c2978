/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.h - the processes that share a socket's path, seen from one of them.
 *
 * With `socket:PATH` one process listens on PATH and the others on PATH.PID;
 * with `socket_dir:DIR` each on DIR/PID.sock. Whoever listens there is of the
 * family, whatever started it. Any of them answers for each and for all:
 *
 *	/PID/...   what that process answers to ...
 *	/all/...   the same pages, of a table that is the sum of all
 *	/family    who they are; .tsv, .json
 *
 * Data flows as elsewhere: members.c finds them, ask.c asks all at once over
 * their sockets, sum.c adds the tables up, answer.c makes the pages. These
 * block, for MW_FAMILY_MS at most: they belong into a thread where nobody
 * waits, and one that has a table of descriptors of its own (apart.h), since
 * a child that is forked meanwhile would keep what is open. All allocate (so: in quiet mode).
 */
#ifndef MW_FAMILY_FAMILY_H
#define MW_FAMILY_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "../pages/access.h"
#include "../pages/routes.h"
#include "../report/wire.h"

#define MW_FAMILY_MS 1500u    /* a process that hasn't answered by then doesn't */
#define MW_FAMILY_MAX 512u    /* processes that are asked */
#define MW_FAMILY_BYTES ((size_t)256 << 20) /* of one process's answer */

#define MW_SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

/* Where they listen. All zero: there is no family but the process itself. */
struct mw_family {
	char path[MW_SOCKET_PATH]; /* of `socket`, absolute; "": not given, or with a PID in it */
	char dir[MW_SOCKET_PATH];  /* of `socket_dir`, absolute; "": not given */
	char token[MW_TOKEN_MAX + 1]; /* that relatives want; "": none */
};

/*
 * Is this a path that mw_family_answer() is for? pid: the process's own. What
 * asks for the process itself by its number is not; *rest is then what
 * behind the number, and else the path itself.
 */
bool mw_family_wants(const char *path, long pid, const char **rest);

/* Answers such a request as mw_route() does. Blocks. */
void mw_family_answer(const struct mw_family *, const struct mw_api *, const struct mw_request *,
		      struct mw_response *);

/* --- members.c -------------------------------------------------------------- */

struct mw_member {
	long pid; /* by the name of its socket; 0: whoever listens on `path` */
	char socket[MW_SOCKET_PATH];
};

/*
 * Sockets that there are, in no order; also such as nobody listens on any more. malloc'ed;
 * NULL: no memory, or the folder can't be read (*n is 0).
 */
struct mw_member *mw_members(const struct mw_family *, size_t *n);

/* What the system says of a process. Numbers are 0 and texts "" where it says nothing. */
struct mw_process_facts {
	char title[256]; /* its command line, words separated by spaces */
	uint64_t rss;    /* bytes */
	double age;      /* seconds since it was forked */
};
void mw_process_facts(long pid, struct mw_process_facts *);

/* --- sum.c ------------------------------------------------------------------- */

/* A process's part of a sum. */
struct mw_part {
	const struct mw_wire *wire;
	bool inherits; /* what it was born with is another's part */
};

/*
 * Which of n processes were born with what another one of them counts: those
 * whose parent is among them, and of brothers without a parent all but the
 * one that knows most of it.
 */
void mw_inheritance(struct mw_part *, size_t n);

/*
 * The sum of n tables as a tracker would have it, for the calling thread,
 * until the next call: rows added up by location, native ones by module and
 * offset (shown without an address). NULL: no memory. Release with mw_sum_end().
 */
const struct mw_api *mw_sum_api(const struct mw_part *, size_t n, const struct mw_api *own);
void mw_sum_end(void);

#endif
