/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checked.c - faults that sanitizers and valgrind look for, one for each argument. Built anew with
 * each of them by t/hazards/checkers.t; without an argument it does nothing wrong.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *volatile p;

static __attribute__((noinline)) void leak(void)
{
	for (int i = 0; i < 50; i++) {
		char *volatile q = malloc(77);

		q[0] = 1;
	}
}

/* So that no leaked address is left on the stack. */
static __attribute__((noinline)) int wipe(void)
{
	volatile char room[20000];

	memset((char *)room, 0, sizeof(room));
	return room[5];
}

static int racy;

static void *other(void *arg)
{
	racy++;
	return arg;
}

static int work(void)
{
	pthread_t t;
	int *v = calloc(10, sizeof(*v)), sum = 0;
	void *aligned;

	v = reallocarray(v, 20, sizeof(*v));
	for (int i = 10; i < 20; i++)
		v[i] = 1;
	for (int i = 0; i < 20; i++)
		sum += v[i];
	if (posix_memalign(&aligned, 64, 100))
		return -1;
	memset(aligned, 1, malloc_usable_size(aligned));
	free(aligned);
	free(strdup("text"));
	v = realloc(v, 5000);
	free(v);
	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	return sum;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;
	int sum = work();

	printf("%d\n", sum + racy);
	fflush(stdout);
	p = malloc(24);
	p[0] = 1;
	if (!strcmp(what, "leak"))
		leak();
	if (!strcmp(what, "beyond")) /* less than the tracker's tail */
		p[24] = p[26];
	if (!strcmp(what, "freed")) {
		free(p);
		p[0] = 2;
		return 0;
	}
	if (!strcmp(what, "unset") && p[9])
		puts("set");
	if (!strcmp(what, "race")) {
		pthread_create(&t, NULL, other, NULL);
		racy++;
		pthread_join(t, NULL);
	}
	free(p);
	return wipe();
}
