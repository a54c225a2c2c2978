/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "noticed.h"

bool mw_unseen, mw_sampled;
uint8_t mw_noticed[MW_NOTICED_BYTES];

static void change(const void *p, uint8_t by)
{
	uint8_t *at = mw_noticed_at(p), is = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (is != UINT8_MAX && !__atomic_compare_exchange_n(at, &is, (uint8_t)(is + by), false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void mw_noticed_add(const void *p)
{
	change(p, 1);
}

void mw_noticed_remove(const void *p)
{
	change(p, UINT8_MAX); /* less 1 */
}
