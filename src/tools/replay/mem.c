/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/mman.h>

#include "mem.h"

enum { FIRST_BYTES = 1 << 16 };

void *mw_mem(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void mw_mem_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

bool mw_array_more(struct mw_array *a, size_t element)
{
	size_t room = a->room ? a->room * 2 : FIRST_BYTES / element;
	void *p;

	if (a->n < a->room)
		return true;
	p = mw_mem(room * element); /* a shared mapping can't grow */
	if (!p)
		return false;
	if (a->n)
		memcpy(p, a->p, a->n * element);
	mw_mem_free(a->p, a->room * element);
	a->p = p;
	a->room = room;
	return true;
}

void mw_array_free(struct mw_array *a, size_t element)
{
	mw_mem_free(a->p, a->room * element);
	*a = (struct mw_array){ 0 };
}
