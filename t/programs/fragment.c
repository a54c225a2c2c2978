/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fragment.c THREADS BLOCKS SIZE KEEP - for t/accuracy/trim.rb and t/map_http.t: so many threads allocate so many blocks of SIZE / 2 to
 * SIZE * 3 / 2 bytes in all, and free all but every KEEP-th. Prints "ready"; at the next line of stdin it trims, and
 * prints the milliseconds of CPU time that this took; ends at the next one. The threads live until then.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t blocks, size, keep;
static pthread_barrier_t turn;

static void *run(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	char **v = calloc(blocks, sizeof(*v));

	for (size_t i = 0; v && i < blocks; i++) {
		size_t n = size / 2 + (size_t)rand_r(&seed) % size;

		v[i] = malloc(n);
		if (v[i])
			memset(v[i], 1, n);
	}
	for (size_t i = 0; v && i < blocks; i++)
		if (i % keep)
			free(v[i]);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	return NULL;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void wait_for_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

int main(int argc, char **argv)
{
	unsigned threads = argc == 5 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t id;
	double from;

	if (!threads)
		return 2;
	blocks = (size_t)atol(argv[2]) / threads;
	size = (size_t)atol(argv[3]);
	keep = (size_t)atol(argv[4]);
	pthread_barrier_init(&turn, NULL, threads + 1);
	for (unsigned i = 1; i <= threads; i++)
		if (pthread_create(&id, NULL, run, (void *)(size_t)i))
			return 1;
	pthread_barrier_wait(&turn);
	puts("ready");
	fflush(stdout);
	wait_for_line();
	from = cpu_ms();
	malloc_trim(0);
	printf("%.2f\n", cpu_ms() - from);
	fflush(stdout);
	wait_for_line();
	return 0;
}
