/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.h - the processes that share a socket's path, seen from one of them.
 *
 * With `socket:PATH` one process listens on PATH and the others on PATH.PID;
 * with `socket_dir:DIR` each on DIR/PID.sock. With `listen` alone they share a
 * path that src/server/httpd/rundir.h finds. Every process with a socket there is of
 * the family, however it was started. Any of them answers for each and for all:
 *
 *	/PID/...   the answer of that process to ...
 *	/PID-NS/.. the same, where several have this number: NS is the inode of its PID namespace
 *	/all/...   the same pages, of a table that is the sum of all; /all/verdict
 *	/family    the list of processes; .tsv, .json
 *	/          the same page, if there are several
 *
 * Data flows as elsewhere: members.c finds them, ask.c asks all at once over
 * their sockets, sum.c adds the tables up, answer.c makes the pages. These
 * block, for MW_FAMILY_MS at most: call them in a thread that nobody waits for,
 * with a descriptor table of its own (shared/sys/own_descriptors.h): a child forked
 * meanwhile would keep open descriptors. All allocate: enter quiet mode first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "server/http/access.h"
#include "server/pages/routes.h"
#include "server/report/wire.h"

#define MW_FAMILY_MAX 512u    /* processes that are asked at most */
#define MW_FAMILY_BYTES ((size_t)256 << 20) /* of one process's answer */

#define MW_SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

/* The endpoints of a family. All zero: the process has no relatives. */
struct mw_family {
	char path[MW_SOCKET_PATH]; /* absolute; of `socket`, or rundir.h's for `listen`; "": none */
	char dir[MW_SOCKET_PATH]; /* of `socket_dir`, absolute; "": not given */
	char token[MW_TOKEN_MAX + 1]; /* for requests to relatives; "": none */
};

/* May there be several processes? By names alone: some may be stale, and a process may have two. */
bool mw_family_relatives(const struct mw_family *);

/*
 * Is this path one for mw_family_answer()? pid: the process's own. "/PID/..."
 * with that number isn't; *rest is then the part behind the number, and else
 * the path itself. "/" is one if there may be relatives (mw_family_relatives), as it is the list of them then.
 */
bool mw_family_wants(const char *path, long pid, bool relatives, const char **rest);

/* The flags (MW_ROUTE_...) of the page that a target asks for, of whichever process; 0: there is none. */
unsigned mw_family_flags(const char *target);

/* Answers a request of these paths as mw_route() does. Blocks. */
void mw_family_answer(const struct mw_family *, const struct mw_api *, const struct mw_request *,
		      struct mw_response *);

/* Is this path the stream of another process with a socket? */
bool mw_family_streams(const struct mw_family *, const char *path, long pid);

/* --- members.c -------------------------------------------------------------- */

struct mw_member {
	long pid; /* from the name of its socket; 0: the owner of `path` */
	uint64_t ns; /* of its PID, from that name; 0: another process had not taken the name without it */
	char socket[MW_SOCKET_PATH];
};

/* Offset in a socket lock of the PID's namespace: a number, and a newline */
#define MW_LOCK_NS_AT 112

/*
 * Its PID and namespace: what its name lacks comes from its socket lock. False: neither tells. In a thread with
 * descriptors of its own: to close the lock of this very process would drop it.
 */
bool mw_member_identify(const struct mw_member *, long *pid, uint64_t *ns);

/* Writes PID, or PID-NS if ns isn't 0, as in an address; in JSON a number, or a string. */
void mw_put_process(struct mw_buf *, long pid, uint64_t ns, bool json);
/* Reads one of these; returns the number of bytes, 0: it is none. */
size_t mw_read_process(const char *s, size_t n, long *pid, uint64_t *ns);

/*
 * The existing sockets, in no order, MW_FAMILY_MAX at most; some may be stale, without a listener.
 * malloc'ed; NULL: none, no memory, or the folder can't be read (*n is 0).
 */
struct mw_member *mw_members(const struct mw_family *, size_t *n);
/* The same by socket locks: the socket may no longer exist, or not yet. */
struct mw_member *mw_members_locks(const struct mw_family *, size_t *n);

/* Facts of a process from /proc. Numbers are 0 and texts "" if not known. */
struct mw_process_facts {
	char title[256]; /* its command line, words separated by spaces */
	uint64_t rss; /* bytes */
	double age; /* seconds since it was forked */
};
void mw_process_facts(long pid, struct mw_process_facts *);

/* The PID of its parent at present, which may be another than its forker; 0: not known. */
long mw_parent_of(long pid);

/* --- trust.c ----------------------------------------------------------------- */

/*
 * Does a process of this user or of root listen where this socket is connected? For root, a
 * descendant of this process is trusted, too. Any other listener is an impostor.
 */
bool mw_relative_trusted(int fd);

/* --- scrape.c --------------------------------------------------------------- */

/* A process's answer. */
struct mw_answer {
	long pid;
	uint64_t shown; /* the namespace, if it has to be told; else 0 */
	const char *text; /* borrowed; NULL if n is 0 */
	size_t n;
};

/*
 * Merges the metrics of n processes, all in the same text form, each sample with the label "process".
 * Drops "# EOF" and any lines before the first "# HELP". A metric's comments are those of the first process
 * that has it.
 */
void mw_scrape_merge(struct mw_buf *, const struct mw_answer *, size_t n);

/* --- sum.c ------------------------------------------------------------------- */

/* A process's part of a sum. */
struct mw_part {
	const struct mw_wire *wire; /* mw_sum_api() numbers its rows, and removes native ones' addresses */
	uint64_t fork_baseline; /* bytes of its fork baseline */
	bool inherits; /* another part counts these: mw_inheritance() */
};

/*
 * Sets `inherits` for each process whose fork baseline another one of the n counts:
 *  - its parent, or the eldest of its line of forks, is among the n;
 *  - neither is: all of that line but the one with the largest baseline.
 * (Allocations of an ended process between them are in no part, as nothing of
 * ended processes is.)
 */
void mw_inheritance(struct mw_part *, size_t n);

/*
 * sum_stacks.c, for mw_sum_api(): the sampled stacks; id: that of the sum's row, which its snapshot
 * has given to the wires' rows. Texts are the wires'. NULL: no memory.
 */
struct mw_stacks *mw_sum_stacks(const struct mw_part *, size_t n);
void mw_sum_stacks_free(struct mw_stacks *);

/*
 * The sum of n tables as a tracker's, for the calling thread, until its next
 * call. Rows are added up by location, native ones by module and offset; these
 * show no address, and a symbol if one process knows it. Sums stop at the largest
 * value of their type. NULL: no memory. Release with mw_sum_end() in that thread.
 */
const struct mw_api *mw_sum_api(const struct mw_part *, size_t n, const struct mw_api *own);
void mw_sum_end(void);
