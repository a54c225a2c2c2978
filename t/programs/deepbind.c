/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deepbind.c DEEP.so - blocks that come past the tracker and are freed through it,
 * and the other way round, with their contents watched.
 */
#include <malloc.h>

#include "../lib/site.h"

#define N 300

MALLOC_SITE(ours);
REALLOC_SITE(ours_from_theirs);
MALLOC_SITE(after);

int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
	void *(*deep_malloc)(size_t) = NULL, *(*deep_realloc)(void *, size_t) = NULL;
	char *(*deep_strdup)(const char *) = NULL;
	void (*deep_free)(void *) = NULL;
	size_t i, bad = 0;
	char *p[N];

	if (!h) {
		say("NOT OK %s\n", dlerror());
		return 1;
	}
	*(void **)&deep_malloc = dlsym(h, "deep_malloc");
	*(void **)&deep_realloc = dlsym(h, "deep_realloc");
	*(void **)&deep_strdup = dlsym(h, "deep_strdup");
	*(void **)&deep_free = dlsym(h, "deep_free");

	/* theirs, freed by us: at every size, full to the last byte */
	for (i = 0; i < N; i++) {
		p[i] = deep_malloc(i * 17);
		memset(p[i], 0xff, i * 17);
	}
	for (i = 0; i < N; i++)
		free(p[i]);
	/* theirs, moved by us */
	for (i = 0; i < N; i++) {
		p[i] = deep_strdup("a string of theirs");
		bad += malloc_usable_size(p[i]) < 11; /* what the tracker has no room in */
		p[i] = ours_from_theirs(p[i], 100 + i);
		bad += strcmp(p[i], "a string of theirs") != 0;
	}
	for (i = 0; i < N; i++)
		free(p[i]);
	expect("ours_from_theirs", N, N, 100 * N + N * (N - 1) / 2, 0);
	/* ours, moved by them, freed by us */
	for (i = 0; i < N; i++) {
		p[i] = ours(50);
		strcpy(p[i], "a string of ours");
		p[i] = deep_realloc(p[i], 5000);
		bad += strcmp(p[i], "a string of ours") != 0;
		free(p[i]);
	}
	/* ours, freed by them; then others get the same memory */
	for (i = 0; i < N; i++)
		deep_free(ours(200));
	for (i = 0; i < N; i++)
		p[i] = after(200);
	for (i = 0; i < N; i++)
		free(p[i]);
	expect("after", N, N, 200 * N, 0);
	check(!bad, "contents survive");
	return 0;
}
