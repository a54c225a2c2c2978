/* SPDX-License-Identifier: GPL-2.0-or-later */
/* refs.h - the birth of each ref that lives: a word for each, in pieces that are made as they are needed. */
#pragma once

#include <stdint.h>

#include "recording/format/format.h"

enum { MW_REFS_PIECE_BITS = 16 };

/* Zeroed: no ref lives. */
struct mw_refs {
	uint32_t *pieces[1 << (MW_REF_BITS - MW_REFS_PIECE_BITS)];
};

/* The word of a ref, less than 1 << MW_REF_BITS; 0: it doesn't live. NULL: no memory. */
uint32_t *mw_refs_at(struct mw_refs *, uint64_t ref);
void mw_refs_free(struct mw_refs *);
