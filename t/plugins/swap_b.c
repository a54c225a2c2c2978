/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swap_b.c - one of two libraries that take each other's place: see reload.c. */
#include "../lib/site.h"

SITE void *bravo(size_t n);
MALLOC_SITE(bravo);
/* by a name that both have, which is no function's */
void *(*const swap_maker)(size_t) = bravo;

SITE void bravo_ends(void);
__attribute__((destructor)) SITE void bravo_ends(void)
{
	free(keep(malloc(77)));
}
