/* SPDX-License-Identifier: GPL-2.0-or-later */
/* huge.c - blocks of 4 GiB and more (untouched: they need no memory). */
#include "../lib/site.h"

#define GIB ((size_t)1 << 30)

MALLOC_SITE(big);
SITE void *zeroed(size_t n)
{
	return keep(calloc(n, 1));
}
REALLOC_SITE(resized);

int main(void)
{
	const struct mw_api *a = tracker();
	/* around the sizes where 32 bits end */
	const size_t sizes[] = { 4 * GIB - 4096, 4 * GIB - 4095, 4 * GIB - 1,  4 * GIB,
				 4 * GIB + 1,    5 * GIB,        6 * GIB - 100 };
	const size_t n = sizeof(sizes) / sizeof(*sizes);
	struct mw_lives *l;
	size_t i, total = 0, found = 0;
	char *p[8];

	for (i = 0; i < n; i++) {
		p[i] = big(sizes[i]);
		if (!p[i]) {
			say("NOT OK malloc of %zu: needs vm.overcommit_memory 0 or 1, and as much memory and swap\n",
			    sizes[i]);
			return 1;
		}
		total += sizes[i];
		p[i][0] = p[i][sizes[i] - 1] = 1;
	}
	l = a ? a->lives(NULL, 0) : NULL;
	for (i = 0; l && i < l->n; i++)
		found += l->v[i].size >= 4 * GIB - 4096;
	if (l && found != n)
		say("NOT OK %zu of them are known as live\n", found);
	if (l) {
		a->lives_free(l);
		say("# api 1\n");
	}
	for (i = 0; i < n; i++)
		if (sizes[i] != 5 * GIB && sizes[i] != 4 * GIB)
			free(p[i]);
	expect("big", n, n - 1, total, 5 * GIB);
	p[0] = resized(p[3], 6 * GIB);
	check(p[0] && p[0][0] == 1, "grown from 4 to 6 GiB");
	p[0] = resized(p[0], 100);
	check(p[0] && p[0][0] == 1, "shrunk to 100 bytes");
	expect("resized", 2, 1, 6 * GIB + 100, 100);
	p[1] = zeroed(5 * GIB);
	check(p[1] && !p[1][0] && !p[1][5 * GIB - 1], "calloc of 5 GiB");
	expect("zeroed", 1, 0, 5 * GIB, 5 * GIB);
	return 0;
}
