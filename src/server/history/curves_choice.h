/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curves_choice.h - chooses the locations that are kept: for curves.c alone. */
#pragma once

#include "curves.h"

/* A value in units, rounded; 256 GiB at most. */
uint32_t mw_curves_units(uint64_t bytes);
/*
 * Chooses, and takes over what is new, with its present value. Rolls the bases if a minute has
 * passed.
 */
void mw_curves_choose(struct mw_curves *, const struct mw_api *, const struct mw_live_sums *, uint32_t t);
/* Frees a slot's name. */
void mw_curves_drop(struct mw_curves *, uint32_t slot);
/* The same, and its values are unknown in all moments. */
void mw_curves_clear(struct mw_curves *, uint32_t slot);
