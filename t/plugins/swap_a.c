/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swap_a.c - one of two libraries that take each other's place: see reload.c. */
#include "../lib/site.h"

SITE void *swap_make(size_t n);
SITE void *swap_make(size_t n)
{
	return keep(malloc(n));
}
