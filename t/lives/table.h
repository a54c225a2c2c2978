/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.h - sums over many lives, and what is printed of them. */
#ifndef LIVES_TABLE_H
#define LIVES_TABLE_H

#include "play.h"

void table_add(const struct play *);
/* The whole table; `worst`: so many lives with their sentences. */
void table_print(size_t worst);
void table_show(const struct play *); /* one life, over time */
void table_print_wrong(const struct play *); /* a life's wrong sentences, a line each */
void table_print_totals(void); /* a name and a number each line */

/* matrix.c */
void matrix_add(const struct play *);
void matrix_print(void);

/* groups.c */
void groups_add(const struct play *);
void groups_print(size_t most);

#endif
