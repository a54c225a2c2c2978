/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play.h - plays a life into a history and curves as a server keeps them, and asks the real code for its verdict.
 */
#ifndef LIVES_PLAY_H
#define LIVES_PLAY_H

#include "../../src/server/history/curves.h"
#include "../../src/server/verdict/evidence.h"
#include "../../src/server/verdict/steady.h"
#include "life.h"

enum { MOMENTS_MAX = 200, SENTENCE = 600 };

enum outcome {
	NEUTRAL, /* nothing can be known yet, and nothing wrong is said */
	RIGHT,
	FALSE_ACCUSATION,
	MISSED,
	WRONG_KIND,
	WRONG_LINE,
	FLAT_OVER_RISE,
	OUTCOMES_N
};
extern const char *const outcome_names[OUTCOMES_N];

/* A sentence, and what is true then. */
struct moment {
	double t;
	enum mw_verdict_kind kind;
	enum outcome outcome;
	bool known;    /* a growth can be known */
	bool flap;     /* another kind than before, without a cause */
	int part;      /* of the life, that the sentence is about; -1: none */
	int blamed;    /* the part by which it went wrong; -1: none */
	uint32_t truth; /* changes when what is true does */
	uint32_t majors; /* collections up to then */
	enum mw_verdict_kind is; /* what grows most of all that can be known; KINDS_N: nothing */
	enum { NAMES_NONE, NAMES_ITS_LINE, NAMES_ANOTHER } names; /* the line of what grows most */
	/* locations that are said to grow by themselves, and those of them that don't */
	unsigned growers, growers_false;
	bool beside, beside_false; /* the sentence names one of them beside what it tells */
	const char *why;
	char sentence[SENTENCE];
};

/* Of the kind that is told, but for those from WATCHING, which says that more is to come, and the end of a start. */
struct changes {
	double all;
	double soon; /* within SOON_SECONDS of the change before */
	double causeless; /* of these, without a change of what is true */
};
enum { SOON_SECONDS = 180 };

struct play {
	struct life life;
	struct mw_history history;
	struct mw_helds helds;
	double proof_t, proof_next; /* uptime: of the last one; not before */
	double gc_disabled;
	/* under way */
	double answer_t; /* NEVER: none */
	struct mw_held answers[MW_VERDICT_SUSPECTS];
	size_t answers_n;
	uint64_t heap; /* what is reached there */
	/* told now: not the last judgement, unless steady.h lets it be */
	struct mw_steady steady;
	struct mw_evidence told_of; /* the verdict points into it */
	struct mw_verdict told;
	double told_t; /* when it was first told, of this kind */
	uint32_t told_truth; /* then */
	struct changes changes;
	/* the sentences and their times */
	size_t moments_n;
	struct moment moments[MOMENTS_MAX];
};

/* For tests of the judge: what is said instead of the real verdict. */
enum stub { NO_STUB, ALWAYS_FLAT, ALWAYS_LARGEST };
extern enum stub play_stub;
extern double play_every; /* a page is open, which asks each so many seconds; 0: none is */

void play_life(struct play *, uint64_t seed, uint64_t nth, const char *only);
void play_free(struct play *);

/* proofs.c */
bool proof_is_due(const struct play *, double t);
void proof_second(struct play *, double t);
void proof_want(struct play *, const struct mw_verdict *, double t);
/* Was there a proof of that line since then, or time for one? */
bool proof_could_be(const struct play *, const struct part *, double t);

/* judge.c */
void judge_moment(const struct play *, const struct mw_verdict *, struct moment *);
void judge_flaps(struct play *);
/* A number that changes with what is true. */
uint32_t judge_truth(const struct play *, double t);

#endif
