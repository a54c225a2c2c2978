/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swap_a.c - one of two libraries that take each other's place: see reload.c. */
#include "../lib/site.h"

SITE void *alpha(size_t n);
MALLOC_SITE(alpha);
/* by a name that both have, which is no function's */
void *(*const swap_maker)(size_t) = alpha;

SITE void alpha_ends(void);
__attribute__((destructor)) SITE void alpha_ends(void)
{
	free(keep(malloc(77)));
}
