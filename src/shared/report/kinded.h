/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinded.h - a table with the kinds of its rows' memory: which part of a location is of which kind,
 * and on how many samples that rests.
 *
 * The parts come from the calibrated profile: those of a row add up to it, to the byte and block.
 * Its frees and lifespans, which no sample says anything about, are divided as its allocations are.
 */
#pragma once

#include "kinds.h"

/* The part of a row that is of one kind. */
struct mw_kind_part {
	uint32_t row, kind;
	uint64_t bytes[MW_BY_N], blocks[MW_BY_N];
	uint64_t samples[MW_BY_N];
	int64_t growth;
};

/* Starts all zero; free in any case. The rows' texts of kinds are in here. */
struct mw_kinded {
	struct mw_snapshot *snapshot;
	struct mw_clues clues;
	struct mw_kind_part *parts; /* owned; by row */
	size_t n;
	size_t *first; /* owned; of each row, and one more */
	const struct mw_row *split; /* of mw_kinded_split(): a row for each part; NULL: none yet */
	struct mw_kind_part *sums; /* owned; by kind: what mw_kinded_add() has added */
};

/*
 * Sets the kinds of all rows of the snapshot (mw_row.top_kind and so on). stacks: taken before it;
 * NULL: they couldn't be had. False: no memory, and all rows are of an unknown kind.
 */
bool mw_kinded_make(struct mw_kinded *, struct mw_snapshot *, const struct mw_stacks *);
void mw_kinded_free(struct mw_kinded *); /* all zero again */

/* A kind's text; it lives as long as `k`. */
const char *mw_kinded_text(const struct mw_kinded *, uint32_t kind);

/* Instead of each row a row for each of its kinds, malloc'ed. NULL: no memory. Once. */
struct mw_row *mw_kinded_split(struct mw_kinded *, size_t *n);

/* Adds a row, of the snapshot or of a split, to the kinds of a sum. */
void mw_kinded_add(struct mw_kinded *, const struct mw_row *);
/* Sets the sum's kind to what was added, and begins again. */
void mw_kinded_end(struct mw_kinded *, struct mw_row *sum);
