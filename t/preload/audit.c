/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit.c - for LD_AUDIT: is told of each object and of each symbol, and allocates in a namespace of its own. */
#include <link.h>
#include <stdlib.h>
#include <string.h>

unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t of, uintptr_t *cookie)
{
	(void)map;
	(void)of;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *sym, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
		       const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	(void)flags;
	free(strdup(name));
	return sym->st_value;
}
