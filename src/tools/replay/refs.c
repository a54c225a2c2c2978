/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mem.h"
#include "refs.h"

enum { PIECE = 1 << MW_REFS_PIECE_BITS, PIECES = sizeof(struct mw_refs) / sizeof(uint32_t *) };

uint32_t *mw_refs_at(struct mw_refs *r, uint64_t ref)
{
	uint32_t **piece = &r->pieces[ref / PIECE];

	if (!*piece)
		*piece = mw_mem(PIECE * sizeof(uint32_t));
	return *piece ? &(*piece)[ref % PIECE] : NULL;
}

void mw_refs_free(struct mw_refs *r)
{
	for (unsigned i = 0; i < PIECES; i++)
		mw_mem_free(r->pieces[i], PIECE * sizeof(uint32_t));
}
