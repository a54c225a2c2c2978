/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buffers.c SIZE COUNT - so many buffers of a size, all written to; says how much of them
 * is resident, and the room of one, in lines that start with '#'.
 */
#include <malloc.h>

#include "../lib/site.h"

SITE void *buffer(size_t n)
{
	return keep(malloc(n));
}

static size_t resident(void)
{
	size_t pages = 0, size = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%zu %zu", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
	       n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, i;
	size_t before, room = 0;

	if (!size || !n)
		return 2;
	before = resident();
	for (i = 0; i < n; i++) {
		void *p = buffer(size);

		memset(p, 1, size);
		room = malloc_usable_size(p);
	}
	say("# resident %zu\n", resident() - before);
	say("# room %zu\n", room);
	expect("buffer", n, 0, n * size, n * size);
	return 0;
}
