/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swap_b.c - swap_a.c once more, with other names. */
#define alpha bravo
#define alpha_ends bravo_ends
#include "swap_a.c"
