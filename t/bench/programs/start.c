/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start.c COUNT TRACKER SOCKET - how much longer `true` takes with the tracker.
 *
 * Runs /bin/true COUNT times without, with the tracker TRACKER preloaded, and
 * with it and a SOCKET asked for, in turns. Writes the medians of the time from
 * spawn to end, in microseconds, to the file that BENCH_OUT names: "native N",
 * "tracker N", "socket N".
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { WAYS = 3, COUNT_MAX = 10000 };

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds, or -1. */
static double one(char **env)
{
	char *args[] = { "/bin/true", NULL };
	double from = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, args[0], NULL, NULL, args, env))
		return -1;
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return now_us() - from;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
	static const char *const names[WAYS] = { "native", "tracker", "socket" };
	static double took[WAYS][COUNT_MAX];
	static char preload[4096], socket[4096];
	char *none[] = { NULL }, *tracker[] = { preload, NULL }, *both[] = { preload, socket, NULL };
	char **envs[WAYS] = { none, tracker, both };
	const char *path = getenv("BENCH_OUT");
	int n = argc == 4 ? atoi(argv[1]) : 0;
	FILE *out;

	if (n < 1 || n > COUNT_MAX)
		return 2;
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[2]);
	snprintf(socket, sizeof(socket), "MWRAP=socket:%s", argv[3]);
	for (int i = -3; i < n; i++) { /* the first ones warm up */
		for (int w = 0; w < WAYS; w++) {
			double us = one(envs[w]);

			if (us < 0)
				return 1;
			if (i >= 0)
				took[w][i] = us;
		}
	}
	out = path ? fopen(path, "w") : stdout;
	if (!out)
		return 1;
	for (int w = 0; w < WAYS; w++) {
		qsort(took[w], (size_t)n, sizeof(double), by_value);
		fprintf(out, "%s %.1f\n", names[w], took[w][n / 2]);
	}
	return fclose(out) ? 1 : 0;
}
