/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.h - the processes that share a socket's path, seen from one of them.
 *
 * With `socket:PATH` one process listens on PATH and the others on PATH.PID;
 * with `socket_dir:DIR` each on DIR/PID.sock. Whoever listens there is of the
 * family, whatever started it; if `listen` is all that is given, they share a path that
 * src/httpd/rundir.h finds. Any of them answers for each and for all:
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

#include "http/access.h"
#include "pages/routes.h"
#include "report/wire.h"

#define MW_FAMILY_MAX 512u    /* processes that are asked */
#define MW_FAMILY_BYTES ((size_t)256 << 20) /* of one process's answer */

#define MW_SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

/* Where they listen. All zero: there is no family but the process itself. */
struct mw_family {
	char path[MW_SOCKET_PATH]; /* of `socket`, absolute, or instead of it for `listen`; "": none is shared */
	char dir[MW_SOCKET_PATH]; /* of `socket_dir`, absolute; "": not given */
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

/* Is this path the stream of another process, and one with a socket? */
bool mw_family_streams(const struct mw_family *, const char *path, long pid);

/*
 * Gives the calling thread a table of descriptors of its own, with 0 to 2 and
 * `keep` in it (-1: none). False: the kernel can't (before Linux 5.9), and it is
 * shared with the process, as it was.
 */
bool mw_own_descriptors(int keep);
/* Would it? Changes nothing. */
bool mw_can_own_descriptors(void);

/* --- members.c -------------------------------------------------------------- */

struct mw_member {
	long pid; /* by the name of its socket; 0: whoever listens on `path` */
	char socket[MW_SOCKET_PATH];
};

/*
 * Sockets that there are, in no order, MW_FAMILY_MAX at most; also such as nobody listens on any
 * more. malloc'ed; NULL: none, no memory, or the folder can't be read (*n is 0).
 */
struct mw_member *mw_members(const struct mw_family *, size_t *n);
/* The same of those whose lock there is, with a socket or (no longer, or not yet) without. */
struct mw_member *mw_members_locks(const struct mw_family *, size_t *n);

/* What the system says of a process. Numbers are 0 and texts "" where it says nothing. */
struct mw_process_facts {
	char title[256]; /* its command line, words separated by spaces */
	uint64_t rss; /* bytes */
	double age; /* seconds since it was forked */
};
void mw_process_facts(long pid, struct mw_process_facts *);

/* Who forked it, as far as that lives; 0: not known. */
long mw_parent_of(long pid);

/* --- trust.c ----------------------------------------------------------------- */

/*
 * Does a process of this user or of root listen where this socket is connected, or, for
 * root, one that this process or its children forked? Nobody else is a relative.
 */
bool mw_relative_trusted(int fd);

/* --- scrape.c --------------------------------------------------------------- */

/* A process's metrics, in the text form that others have, too. */
struct mw_scrape {
	long pid;
	const char *text; /* borrowed; NULL if n is 0 */
	size_t n;
};

/*
 * Those of n processes as one, each sample with the label "process"; without
 * "# EOF", and what comes before the first "# HELP". What is said of a metric is the first one's.
 */
void mw_scrape_merge(struct mw_buf *, const struct mw_scrape *, size_t n);

/* --- sum.c ------------------------------------------------------------------- */

/* A process's part of a sum. */
struct mw_part {
	const struct mw_wire *wire; /* mw_sum_api() takes the addresses off its native rows */
	uint64_t born; /* bytes it was born with, and */
	bool inherits; /* whether these are another's part: mw_inheritance() */
};

/*
 * Which of n processes were born with what another one of them counts: those
 * whose parent, or the first one of the forks that led to them, is among them; of
 * those of one such line without either all but the one that knows most of it.
 * (What a process in between made and handed down is in no part once it has ended,
 * as nothing is that ended processes did.)
 */
void mw_inheritance(struct mw_part *, size_t n);

/*
 * The sum of n tables as a tracker would have it, for the calling thread,
 * until the next call: rows added up by location, native ones by module and
 * offset (shown without an address, by a symbol if one of them knows it), sums
 * stop at the largest value of their type. NULL: no memory. Release with mw_sum_end().
 */
const struct mw_api *mw_sum_api(const struct mw_part *, size_t n, const struct mw_api *own);
void mw_sum_end(void);

#endif
