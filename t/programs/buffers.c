/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buffers.c SIZE COUNT - so many buffers of a size, all written to; says how much of them
 * is resident, and the room of one, in lines that start with '#'.
 */
#include <malloc.h>

#include "../lib/site.h"

MALLOC_SITE(buffer);

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
