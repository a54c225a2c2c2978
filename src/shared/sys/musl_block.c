/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "musl_block.h"

#include "sys.h"

const uint16_t mw_musl_units[MW_MUSL_CLASSES] = {
	1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
	36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
	584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

bool mw_musl_is_block(const void *p)
{
	uint32_t word;
	uintptr_t group;
	const struct mw_musl_meta *m;

	if ((uintptr_t)p % MW_MUSL_UNIT || !mw_sys_reads((uintptr_t)p - MW_MUSL_UNIT))
		return false;
	word = ((const uint32_t *)p)[-1];
	group = (uintptr_t)p - ((uintptr_t)(word >> 16) + 1) * MW_MUSL_UNIT;
	if (!mw_sys_reads(group))
		return false;
	m = *(const struct mw_musl_meta *const *)group;
	return (uintptr_t)m % sizeof(*m->links) == 0 && mw_sys_reads((uintptr_t)m) &&
	       m->group == (const void *)group;
}
