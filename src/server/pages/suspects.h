/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suspects.h - the locations that a verdict suspects, as a question for a proof, and what became of it.
 *
 * The site's owner makes the question and takes the answer. In between mw_suspects_ask runs in a thread
 * that serves nobody else: it waits for a Ruby thread, and for the forked child.
 *
 * A proof is made only while something is suspected: PROOF_SECONDS apart at least, and so rarely that its
 * child takes less than a thousandth of a CPU. There is none with proof:off, on more than PROOF_RSS,
 * or if the process's cgroup has little room left.
 */
#ifndef MW_PAGES_SUSPECTS_H
#define MW_PAGES_SUSPECTS_H

#include "server/holders/holders.h"
#include "server/verdict/verdict.h"

struct mw_site;

enum {
	MW_PROOF_SECONDS = 300,
	MW_PROOF_LOOK_SECONDS = 30 /* between two verdicts that nobody asked for: one costs some milliseconds */
};

struct mw_suspects {
	double t; /* uptime at which it was asked */
	double old_t; /* uptime at which `old` began; NaN: not known */
	uint64_t old; /* see mw_holders_question */
	size_t n;
	struct {
		char *location; /* owned */
		uint32_t len;
		double old_bytes; /* that lived at old_t */
	} v[MW_SUSPECTS];
	uint32_t made; /* a location whose objects are asked about; 0: none */
	uint32_t made_as; /* the number of its suspect in the answer */
	/* the answer */
	enum mw_holders_is is;
	struct mw_holders holders;
	char err[MW_HOLDERS_ERROR];
};

/* A site's proofs. All zero at first. */
struct mw_proofs {
	bool able; /* a thread can be had: set by the one that runs mw_suspects_ask */
	bool under_way;
	bool never; /* this process can't be asked */
	bool crowded; /* it is too large, or its cgroup has little room: for now none is made */
	double next; /* uptime; not before */
	double look; /* the next verdict that nobody asked for */
	uint32_t made;
	uint64_t ns, stop_ns; /* of all: of the children, and of the application's stops */
	struct mw_helds helds;
	int gc_disabled; /* at gc_t, uptime: 1, 0; -1: not known */
	double gc_t;
	uint32_t made_of; /* the last location whose objects were asked about; 0: none was */
	char made_owner[MW_HELD_OWNER]; /* refers to most of them; "": no name */
	char why[MW_HOLDERS_ERROR]; /* there is no proof; "": there is, or nobody asked */
};

/* suspects.c. A question, if the last verdict wants a proof and one may be made now. Free it. */
bool mw_site_suspects(struct mw_site *, struct mw_suspects *);
/* Asks, in another thread than the site's owner's. */
void mw_suspects_ask(struct mw_suspects *, const struct mw_api *);
/* Takes the answer in. */
void mw_site_proved(struct mw_site *, struct mw_suspects *);
void mw_suspects_free(struct mw_suspects *); /* all zero again */

/* owner.c: the name of what holds the blocks of a row, for a sentence: "Audit::LOG, an Array"; "": none. */
void mw_owner_name(const struct mw_holder *, char *to, size_t size);

#endif
