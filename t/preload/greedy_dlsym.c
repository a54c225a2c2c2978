/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * greedy_dlsym.c - a dlsym that allocates at each call, before it answers.
 *
 * As other preloads do, and some versions of the C library. The first calls
 * come while the tracker is still looking for the real functions. Each block is
 * kept in greedy_block[], filled with its number, for t/programs/bootstrap.c. Together they
 * are more than a first piece of 64 KiB has, and some of them alone are.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64
#define BYTES(i) ((i) % 8 == 5 ? (size_t)2500000 : 6000)

unsigned char *greedy_block[BLOCKS];
size_t greedy_size[BLOCKS];
unsigned greedy_n, greedy_bad;

static void greed(void)
{
	unsigned char *p, *q;
	void *aligned = NULL;
	size_t i, n = BYTES(greedy_n);

	if (greedy_n == BLOCKS)
		return;
	free(malloc(n));
	p = calloc(n, 1);
	for (i = 0; p && i < n; i++)
		greedy_bad += p[i] != 0;
	if (p)
		memset(p, (int)greedy_n, n / 2);
	q = realloc(p, n / 2);
	if (posix_memalign(&aligned, 64, 10) || (size_t)aligned % 64)
		greedy_bad++;
	free(aligned);
	if (!q) {
		greedy_bad++;
		return;
	}
	greedy_block[greedy_n] = q;
	greedy_size[greedy_n++] = n / 2;
}

void *dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27" };
	size_t i;

	for (i = 0; !real && i < sizeof(versions) / sizeof(*versions); i++)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	greed();
	return real ? real(handle, name) : NULL;
}
