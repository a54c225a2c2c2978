/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns.h - shared by the work programs in C: work in slices, each when told to.
 *
 * The other end of t/bench/turns.rb: standard input has a line for each slice, how
 * many rounds to do (the first one is the warm-up), and to standard output it says
 * after each how much CPU time it has had so far, in seconds: user and system, of the
 * whole process, so of all its threads. Between slices the program waits in read(2).
 *
 * With the rounds as an argument instead (by hand, or under a profiler) there is a
 * warm-up of a tenth of them, then one slice that counts.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Does so many rounds. */
typedef void slice_fn(long rounds);

__attribute__((noreturn)) static void die(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * rounds: the argument, or NULL to take turns. Both take only multiples of `unit`.
 * Returns what main shall.
 */
static int take_turns(slice_fn *slice, const char *rounds, long unit)
{
	char line[32];
	double before;
	long n;

	if (rounds) {
		n = strtol(rounds, NULL, 10);
		if (n < 1 || n % (10 * unit))
			return 2;
		slice(n / 10);
		before = cpu();
		slice(n);
		printf("ns %.3f\n", (cpu() - before) / (double)n * 1e9);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		n = strtol(line, NULL, 10);
		if (n < 1 || n % unit)
			return 2;
		slice(n);
		printf("%.9f\n", cpu());
		fflush(stdout);
	}
	return 0;
}

/*
 * The workers: threads that live as long as the program and do their part of each
 * slice. Their number and what they do is the program's.
 */
static pthread_barrier_t slice_start, slice_end;

static void workers_ready(long workers)
{
	pthread_barrier_init(&slice_start, NULL, (unsigned)workers + 1);
	pthread_barrier_init(&slice_end, NULL, (unsigned)workers + 1);
}

static void worker(void *(*work)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, arg))
		die("no thread");
}

/* In main: one slice of all workers. */
static void workers_do(void)
{
	pthread_barrier_wait(&slice_start);
	pthread_barrier_wait(&slice_end);
}
