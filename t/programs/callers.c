/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callers.c - for t/stacks.t. N: functions that call one that allocates, three times and once. close
 * A B: opens A, calls it and closes it, then B, in turns. Then it waits for the end of stdin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *takes(size_t n);
void thrice(void), once(void);

#define APART __attribute__((noinline, noclone, visibility("default")))

static void *volatile kept;

APART void *takes(size_t n)
{
	kept = malloc(n);
	return kept;
}

APART void thrice(void)
{
	for (int i = 0; i < 3; i++) {
		free(takes(16384));
		__asm__ volatile("" ::: "memory");
	}
}

APART void once(void)
{
	free(takes(16384));
	__asm__ volatile("" ::: "memory");
}

static void turns(char **libraries)
{
	for (int i = 0; i < 400; i++) {
		void *l = dlopen(libraries[i % 2], RTLD_NOW | RTLD_LOCAL);
		union {
			void *p;
			void (*call)(void);
		} f = { l ? dlsym(l, "calls") : NULL };

		if (!f.p) {
			(void)fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		f.call();
		(void)dlclose(l);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "close")) {
		turns(argv + 2);
	} else {
		for (long i = argc > 1 ? atol(argv[1]) : 0; i; i--) {
			thrice();
			once();
		}
	}
	(void)puts("done");
	(void)fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
