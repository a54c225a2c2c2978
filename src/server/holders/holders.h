/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holders.h - the holders of a location's live blocks: a Ruby object, native memory, or nothing.
 *
 * A forked child computes it from its copy of the process, so the application pays for the fork
 * alone. mw_holders_begin forks, mw_holders_end waits for the child and reads its answer. The child
 * is made by clone() itself: no atfork handler runs, no SIGCHLD comes, and wait() doesn't see it.
 *
 * Must stay true:
 *  - From the fork on the child allocates by mmap alone, takes no lock, and calls only those of
 *    Ruby's functions that do neither (ruby.h). Other threads may have held any lock at the fork.
 *  - Ruby's objects count as reachable as its own collector sees them. Blocks are found by any
 *    word that points into them: in slots of reachable objects, in blocks and mappings that are held, in
 *    libraries' variables, in threads' stacks. Memory that the tracker doesn't know isn't read.
 *  - Names of classes, variables and locations leave the child; contents of objects never do.
 *
 * A block that a word points to by chance counts as held. A block is told to be held by nothing if
 * its address is kept in another form only, in the bytes of a String, by the kernel (epoll), or in
 * memory from mmap that the tracker doesn't know: of less than MW_MAPPING_LEAST bytes, say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/api.h"

enum mw_held_by {
	MW_HELD_RUBY,    /* an object that Ruby's roots reach */
	MW_HELD_NATIVE,  /* a library's variable or a thread's stack, directly or by other blocks */
	MW_HELD_GARBAGE, /* an object that the next collection frees */
	MW_HELD_NOTHING  /* a native leak */
};
#define MW_HELD_BY_N 4

/* A sampled object of Ruby's that lives (server/objects). */
struct mw_holders_object {
	uintptr_t addr;
	uint32_t id; /* the location that made it */
	uint64_t n, bytes; /* objects that it stands for, and their slots */
};
enum { MW_HOLDERS_OBJECTS = 4096 };

/* A question about the blocks of some locations. Zeroed, it asks for all live blocks, as a summary. */
struct mw_holders_question {
	const uint32_t *ids; /* of locations; NULL: all live blocks */
	size_t n;
	/* by the index of an id: the suspect to which it belongs, below MW_SUSPECTS. NULL: all ids are one */
	const uint8_t *suspect;
	uint64_t old; /* a block of an earlier generation is old */
	bool young; /* old blocks are in no row. With ids */
	/* with the GVL: `most` sampled objects at most, for those that these locations made. NULL: not asked for */
	size_t (*objects)(struct mw_holders_object *, size_t most);
};
enum { MW_SUSPECTS = 12 };

/* All blocks of one suspect, in bytes but for `blocks`. */
struct mw_suspected {
	uint64_t blocks, by[MW_HELD_BY_N];
	uint64_t old_by[MW_HELD_BY_N]; /* of the old ones alone */
	uint64_t wrapped; /* of garbage: what a garbage object of an extension leads to, which may free it or not */
};

/* A holder of some blocks. */
struct mw_holder {
	uint32_t suspect;
	bool objects; /* the row is of sampled objects, not of blocks: the holder is who refers to them */
	enum mw_held_by by;
	uint64_t blocks, bytes;
	uint64_t paths; /* different ones; 0: too many to tell, or a summary */
	const char *holder; /* a class, a library, "(thread stack)", "(nothing)" ... */
	size_t n_path; /* 0: none */
	const char **path; /* the one that most of its blocks have, from the root to the holder */
};

/* The blocks of a location that nothing holds. */
struct mw_lost {
	uint32_t id;
	uint64_t blocks, bytes;
};
enum { MW_LOST = 20 };

/* An answer: rows with the most blocks first; of a summary, with the most bytes. */
struct mw_holders {
	size_t n;
	struct mw_holder *rows;
	uint64_t blocks, bytes; /* of all rows of blocks */
	uint64_t sampled; /* objects that the rows of objects rest on: their numbers are estimates */
	struct mw_suspected suspects[MW_SUSPECTS]; /* all zero of a summary */
	uint32_t n_lost; /* of a summary: the locations with the most bytes that nothing holds, these first */
	struct mw_lost lost[MW_LOST];
	uint64_t objects; /* of Ruby's that its roots reach; 0: none was looked at */
	uint64_t object_bytes; /* their slots */
	int gc_disabled; /* 1: by GC.disable, at the fork; 0: no; -1: not known */
	uint64_t ns, stop_ns; /* the child's time, and that of the fork, in which Ruby stood still */
	uint32_t unread_stacks; /* of threads whose stacks couldn't be found */
	enum mw_missing missing; /* blocks that aren't known hold nothing: what only they lead to seems lost */
	char *text; /* the rows point into it */
};

#define MW_HOLDERS_ERROR 160 /* bytes of a line of text, with its NUL */

/* A child under way. */
struct mw_holders_child {
	pid_t pid; /* 0: none */
	pid_t of; /* its parent: in a process that this one forks it is nobody's */
	struct mw_findings *found; /* shared with it */
	uint64_t began, stop_ns;
	uint32_t unread_stacks;
	int gc_disabled; /* as in struct mw_holders */
};

enum mw_holders_is {
	MW_HOLDERS_OK,
	MW_HOLDERS_AGAIN, /* *stop is true */
	MW_HOLDERS_BUSY, /* another child is under way */
	MW_HOLDERS_UNKNOWN, /* not with this Ruby, or in no process without Ruby */
	MW_HOLDERS_FAILED /* no fork, no memory, no answer in time */
};

/*
 * Forks. Two steps belong together: if this is OK, mw_holders_end or mw_holders_drop must follow, in any
 * thread. Otherwise `err` has the reason. The question is needed no longer then. In a Ruby thread with the
 * GVL, outside a collection. Calls no Ruby code.
 */
enum mw_holders_is mw_holders_begin(struct mw_holders_child *, const struct mw_api *,
				    const struct mw_holders_question *, char err[MW_HOLDERS_ERROR]);

/*
 * Waits for the child, MW_HOLDERS_SECONDS at most, and reads its answer. If *stop is true meanwhile,
 * it returns MW_HOLDERS_AGAIN: then call it again, or mw_holders_drop. stop may be NULL. Free the
 * answer with mw_holders_free. In any thread, without the GVL.
 */
enum mw_holders_is mw_holders_end(struct mw_holders_child *, const struct mw_api *, const uint32_t *stop,
				  struct mw_holders *, char err[MW_HOLDERS_ERROR]);
/* Ends a child whose answer nobody wants. */
void mw_holders_drop(struct mw_holders_child *);
#define MW_HOLDERS_SECONDS 60
void mw_holders_free(struct mw_holders *);

/*
 * job.c: both steps, for a thread that isn't Ruby's. It asks Ruby to call us at a safe point of one of
 * its threads, wakes the main thread if none comes by, and waits for MW_HOLDERS_JOB_SECONDS at most.
 */
enum mw_holders_is mw_holders_ask(const struct mw_api *, const struct mw_holders_question *,
				  struct mw_holders *, char err[MW_HOLDERS_ERROR]);
#define MW_HOLDERS_JOB_SECONDS 10

/* "ruby", "native", "garbage", "nothing" */
const char *mw_held_by_name(enum mw_held_by);
