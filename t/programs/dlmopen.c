/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dlmopen.c DEEP.so - loads it again and again with a C library of its own, whose blocks never come to the tracker.
 */
#include <malloc.h>

#include "../lib/site.h"

#define ROUNDS 4
#define N 500

MALLOC_SITE(of_the_program);

static void both(void *h)
{
	void *(*their_malloc)(size_t) = NULL, *(*their_realloc)(void *, size_t) = NULL;
	void (*their_free)(void *) = NULL;

	*(void **)&their_malloc = dlsym(h, "deep_malloc");
	*(void **)&their_realloc = dlsym(h, "deep_realloc");
	*(void **)&their_free = dlsym(h, "deep_free");
	for (size_t i = 0; i < N; i++) {
		char *theirs = their_malloc(i + 1), *ours = of_the_program(10);

		memset(theirs, (int)i, i + 1);
		theirs = their_realloc(theirs, 2 * i + 9);
		check(theirs[i] == (char)i, "contents");
		if (i & 1)
			free(ours);
		their_free(theirs);
	}
}

int main(int argc, char **argv)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *h = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

		check(h, "a namespace");
		if (!h)
			return 1;
		both(h);
		dlclose(h);
	}
	expect("of_the_program", ROUNDS * N, ROUNDS * N / 2, ROUNDS * N * 10, ROUNDS * N * 5);
	return 0;
}
