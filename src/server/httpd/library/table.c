/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - all of libmwrap_mhd.so; see library.h. */
#include "library.h"

const struct mw_mhd mwrap_mhd = {
	.size = sizeof(struct mw_mhd),
#define MW_MHD(name) .name = MHD_##name,
#include "functions.def"
};
