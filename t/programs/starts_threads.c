/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starts_threads.c - for each line on stdin, starts 50 threads and waits for their ends, ten at a time; then prints what
 * freed_by_starts() of t/preload/stack_again.c has counted.
 */
#include <pthread.h>
#include <stdio.h>

#define THREADS 10

extern int freed_by_starts(void) __attribute__((weak));

static void *run(void *arg)
{
	return arg;
}

static int start_ten(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, NULL))
			return -1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

int main(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < 5; i++)
			if (start_ten())
				return 1;
		printf("%d\n", freed_by_starts ? freed_by_starts() : -1);
		fflush(stdout);
	}
	return 0;
}
