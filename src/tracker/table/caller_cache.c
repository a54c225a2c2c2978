/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "caller_cache.h"

uint32_t mw_code_epoch[MW_CODE_PAGES];
uint32_t mw_code_changes;

void mw_caller_forget(uintptr_t start, uint64_t bytes)
{
	uint64_t pages = ((start & 4095) + bytes + 4095) >> 12;

	if (pages > MW_CODE_PAGES)
		pages = MW_CODE_PAGES;
	for (uint64_t i = 0; i < pages; i++)
		__atomic_fetch_add(&mw_code_epoch[((start >> 12) + i) % MW_CODE_PAGES], 1,
				   __ATOMIC_RELEASE);
	__atomic_fetch_add(&mw_code_changes, 1, __ATOMIC_RELEASE);
}

void mw_caller_forget_all(void)
{
	mw_caller_forget(0, (uint64_t)MW_CODE_PAGES << 12);
}
