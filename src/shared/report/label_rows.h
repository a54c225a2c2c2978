/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * label_rows.h - a profile's memory by label: which endpoint or job allocated it.
 *
 * Each row is the sum of the stacks with one label, so all rows add up to the table, to the byte.
 */
#pragma once

#include "columns.h"
#include "profile.h"

#define MW_NO_LABEL "(no label)"

/* The columns of a row: its location is the label, its kind_samples are the samples that it rests on. */
extern const struct mw_table mw_label_table;

/*
 * A row for each label, with the most live bytes first, malloc'ed; that of no label, if there is such memory, is the
 * last one. Texts are the profile's. NULL: no memory.
 */
struct mw_row *mw_labels_make(const struct mw_profile *, size_t *n);
