/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * held.h - proofs about locations: how much of their live memory is kept.
 *
 * A proof is what server/holders found out in a forked child. It says of some locations which of
 * their live bytes Ruby's roots or a library's memory lead to, which are garbage, and which nothing leads
 * to. This keeps the last ones, and answers for a location: of what it grew by, how much is kept?
 * It also keeps how much of Ruby's heap the roots reach.
 *
 * All zero at first. Not thread-safe: the owner of the site makes all calls. Times are seconds of
 * uptime, sizes bytes.
 */
#ifndef MW_VERDICT_HELD_H
#define MW_VERDICT_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MW_HELDS = 96,        /* answers that are kept, each about one location */
	MW_HELD_OWNER = 160,  /* bytes of an owner's name, with its NUL */
	MW_HELD_GROWN =
		64 << 10, /* a location must have grown by so much between two proofs, or since the start */
	MW_HELD_HEAPS = 64 /* even */
};

/* One location at one time. */
struct mw_held {
	double t; /* at the fork */
	char *location; /* owned; NULL: an empty place */
	uint32_t len;
	uint64_t blocks;
	/* bytes: reachable, garbage that a collection frees, and what nothing leads to */
	uint64_t kept, garbage, lost;
	/* of garbage: it may be none, as its objects may not free it, or blocks that aren't known lead to it */
	uint64_t unclear;
	/*
	 * Of the bytes that lived at an earlier time, those that are kept or lost now. A cache that is full
	 * and replaces its entries has few of them, a leak has them all. old_t: NaN: not known.
	 */
	double old_t, old_bytes, old_kept;
	char owner[MW_HELD_OWNER]; /* of most of what is kept: "Audit::LOG, an Array"; "": no name */
};

/* Ruby's heap at one time: the slots of objects that its roots reach. */
struct mw_held_heap {
	double t;
	uint64_t bytes;
};

struct mw_helds {
	uint32_t n; /* ever added */
	struct mw_held v[MW_HELDS]; /* a ring */
	uint32_t heaps_n; /* in heap[], ascending; if it is full, every second one goes, but the first stays */
	struct mw_held_heap heap[MW_HELD_HEAPS];
};

/* Adds an answer; copies its location. False: no memory, and nothing changed. */
bool mw_helds_add(struct mw_helds *, const struct mw_held *);
void mw_helds_free(struct mw_helds *); /* all zero again */
/* t: later than that of the one before, or it is dropped */
void mw_helds_add_heap(struct mw_helds *, double t, uint64_t bytes);

/* The last answer about a location; NULL: there is none. It stays until the next one is added. */
const struct mw_held *mw_held_last(const struct mw_helds *, const char *location, size_t len);

/* Proofs saw what stays at a location rise. */
struct mw_held_rise {
	double from, to; /* the first proof of the rise, and the last one */
	double gain, stays; /* bytes: gained between the two, and at the last */
};
/* Did three proofs or more since then see it rise each time, and is it still rising? Else nothing is written. */
bool mw_held_rises(const struct mw_helds *, const char *location, size_t len, double since,
		   struct mw_held_rise *);

/*
 * Of what the location has grown by since `since`, when it had `then` bytes, the part that is kept, lost
 * included: 0 to 1. NaN: no proof says so yet, for it is older than that growth, or the location had hardly
 * grown. Two proofs within that time say more than one, and what is old says more than the sum: what is kept
 * may be a full cache.
 */
double mw_held_share(const struct mw_helds *, const char *location, size_t len, double since, double then);

/*
 * Bytes a second by which what it keeps, lost included, rose from a proof to the last one, which were so many seconds
 * apart at least. NaN: there are no two.
 */
double mw_held_rate(const struct mw_helds *, const char *location, size_t len, double apart);

/*
 * Is more than half of what an earlier proof saw kept let go of since, and does what is older than that not grow? So a
 * cache does that has an end. The last proof knows what is old; of few blocks it knows nothing.
 */
bool mw_held_turns_over(const struct mw_helds *, const char *location, size_t len);

/* The kept part of all that one proof saw; NaN: there is none. */
double mw_held_part(const struct mw_held *);

/*
 * The first proof of Ruby's heap at `since` or later, and the last one. False: they are the same, or too near to each
 * other, and nothing is set.
 */
bool mw_held_heaps(const struct mw_helds *, double since, struct mw_held_heap *first,
		   struct mw_held_heap *last);

/* Is more than half of what the last proof saw garbage of which nobody knows whether its objects free it? */
bool mw_held_unclear(const struct mw_helds *, const char *location, size_t len, double since);

#endif
