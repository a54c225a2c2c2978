/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curves_grid.h - the memory of curves: for curves.c and curves_read.c alone. */
#pragma once

#include "curves.h"

#define MW_CURVES_UNIT 64u           /* bytes of one unit of a value */
#define MW_CURVES_UNKNOWN UINT32_MAX /* a value */
_Static_assert(MW_CURVES_ROUNDING == MW_CURVES_N * MW_CURVES_UNIT, "MW_CURVES_ROUNDING");

struct mw_curves_piece {
	uint64_t total[MW_CURVES_PIECE]; /* live bytes of all locations */
	uint32_t t[MW_CURVES_PIECE];
	uint32_t v[MW_CURVES_PIECE][MW_CURVES_N]; /* in units, by slot */
};

/* One moment of a grid. */
struct mw_curves_moment {
	uint32_t *t;
	uint64_t *total;
	uint32_t *v;
};

/* i: of the present ones, 0 is the oldest. */
static inline struct mw_curves_moment mw_curves_moment(const struct mw_curves_grid *g, uint32_t i)
{
	uint32_t at = g->whole || g->n <= g->room ? i : (g->n + i) % g->room;
	struct mw_curves_piece *p = g->pieces[at / MW_CURVES_PIECE];

	at %= MW_CURVES_PIECE;
	return (struct mw_curves_moment){ &p->t[at], &p->total[at], p->v[at] };
}

static inline uint32_t mw_curves_present(const struct mw_curves_grid *g)
{
	return g->n < g->room ? g->n : g->room;
}
