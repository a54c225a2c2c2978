/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bootstrap.c - blocks that were allocated before the real functions were known
 * (t/preload/greedy_dlsym.c) hold what was written, grow, shrink and are freed.
 */
#include <malloc.h>

#include "../lib/site.h"

REALLOC_SITE(grown);

static bool holds(const unsigned char *p, size_t n, unsigned char c)
{
	while (n && p[n - 1] == c)
		n--;
	return !n;
}

int main(void)
{
	unsigned char **block = dlsym(RTLD_DEFAULT, "greedy_block");
	size_t *size = dlsym(RTLD_DEFAULT, "greedy_size");
	unsigned *n = dlsym(RTLD_DEFAULT, "greedy_n"), *bad = dlsym(RTLD_DEFAULT, "greedy_bad");
	size_t i, grew = 0, left = 0, wrong = 0;

	if (!block || !size || !n || !bad)
		return 2;
	while (*n < 64) /* natively only these calls fill it */
		dlsym(RTLD_DEFAULT, "main");
	for (i = 0; i < 64; i++) {
		wrong += malloc_usable_size(block[i]) < size[i] ||
			 !holds(block[i], size[i], (unsigned char)i);
		if (i % 3 == 0) {
			block[i] = grown(block[i], 10000); /* some shrink */
			grew++;
			wrong += !block[i] ||
				 !holds(block[i], size[i] < 10000 ? size[i] : 10000, (unsigned char)i);
			if (i % 2) {
				free(block[i]);
				continue;
			}
			left++;
		} else if (i % 3 == 1) {
			free(block[i]);
		}
	}
	check(!*bad, "what was had so early was right");
	check(!wrong, "and so it stays");
	expect("grown", grew, grew - left, 10000 * grew, 10000 * left);
	return 0;
}
