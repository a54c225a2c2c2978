/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "border.h"

/* the objects linked behind it may begin in this page */
__asm__(".text\n\t"
	".p2align 12\n\t"
	".globl mw_border_page\n\t"
	".hidden mw_border_page\n"
	"mw_border_page:\n\t"
	".skip 64");
