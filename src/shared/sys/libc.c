/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libc.c - what both C libraries do in one way; see libc.h. */
#include "libc.h"

#include <dlfcn.h>

const char *mw_libc_symbol(uintptr_t address, uintptr_t *at)
{
	Dl_info i;

	if (!dladdr((void *)address, &i))
		return NULL;
	*at = (uintptr_t)i.dli_saddr;
	return i.dli_sname;
}
