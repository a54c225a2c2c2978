/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * living.c A B C - 2,000 threads that live at once. Each allocates A, B and C bytes at three lines, and writes
 * to all of them: a page that nobody writes to takes no memory natively.
 */
#include <semaphore.h>

#include "../lib/site.h"

enum { N = 2000, FIRST = 50, LINES = 3 }; /* FIRST: what the first threads take isn't for each of them */

static size_t bytes[LINES];
static sem_t here, go;

#define S(n)                                                      \
	SITE void *s##n(size_t size)                              \
	{                                                         \
		return keep(memset(keep(malloc(size)), 1, size)); \
	}
S(0)
S(1)
S(2)
static void *(*const line[LINES])(size_t) = { s0, s1, s2 };

static void *one(void *arg)
{
	void *p[LINES];

	for (int i = 0; i < LINES; i++)
		p[i] = line[i](bytes[i]);
	sem_post(&here);
	while (sem_wait(&go) != 0)
		;
	for (int i = 0; i < LINES; i++)
		free(p[i]);
	return arg;
}

static void start(pthread_t *t, int n)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &small, one, NULL) != 0)
			_exit(98);
	for (int i = 0; i < n; i++)
		while (sem_wait(&here) != 0)
			;
	pthread_attr_destroy(&small);
}

int main(int argc, char **argv)
{
	static pthread_t t[N];
	size_t before;

	for (int i = 0; i < LINES; i++)
		bytes[i] = i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : 24;
	sem_init(&here, 0, 0);
	sem_init(&go, 0, 0);
	start(t, FIRST);
	before = resident();
	start(t + FIRST, N - FIRST);
	say("# %zu bytes of RSS a living thread\n", (resident() - before) / (N - FIRST));
	for (int i = 0; i < N; i++)
		sem_post(&go);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < LINES; i++) {
		char name[] = { 's', (char)('0' + i), 0 };

		expect(name, N, N, N * bytes[i], 0);
	}
	return 0;
}
