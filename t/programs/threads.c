/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads.c MODE - threads that come and go.
 *
 * serial:  5,000 one after the other, each leaving a block to main
 * crowd:   200 at once, held at a barrier while all have allocated
 * keys:    thread-specific destructors that free and allocate, in each of the
 *          rounds that POSIX has, before and after the tracker's own
 * small:   threads with the smallest stack there may be
 */
#include <limits.h>

#include "../lib/site.h"

MALLOC_SITE(in_thread);
MALLOC_SITE(in_main);
MALLOC_SITE(in_destructor);
MALLOC_SITE(for_key);

static void *one(void *arg)
{
	void *a = in_thread(100), *b = in_thread(200), *c = in_thread(300);

	free(a);
	free(b);
	free(arg);
	return c;
}

static void serial(void)
{
	const struct mw_api *a = tracker();
	struct mw_stats early = { 0 }, late = { 0 };
	size_t i, n = 5000;
	pthread_t t;
	void *left;

	for (i = 0; i < n; i++) {
		if (pthread_create(&t, NULL, one, in_main(50)))
			say("NOT OK pthread_create\n");
		pthread_join(t, &left);
		if (i % 2)
			free(left);
		if (a && i == 100)
			a->stats(&early);
	}
	expect("in_thread", 3 * n, 2 * n + n / 2, 600 * n, 300 * n / 2);
	expect("in_main", n, n, 50 * n, 0);
	if (!a)
		return;
	a->stats(&late);
	if (late.tracker_bytes > early.tracker_bytes + (1 << 20))
		say("NOT OK ended threads hold memory: %lu, then %lu\n", early.tracker_bytes,
		    late.tracker_bytes);
	say("# api 1\n");
}

#define CROWD 200
static pthread_barrier_t all_here;

static void *crowd_one(void *arg)
{
	void *p[20];
	size_t i;

	(void)arg;
	for (i = 0; i < 20; i++)
		p[i] = in_thread(i + 1);
	pthread_barrier_wait(&all_here);
	for (i = 0; i < 19; i++)
		free(p[i]);
	return p[19];
}

static void crowd(void)
{
	pthread_t t[CROWD];
	void *left;
	size_t i;

	pthread_barrier_init(&all_here, NULL, CROWD);
	for (i = 0; i < CROWD; i++)
		if (pthread_create(&t[i], NULL, crowd_one, NULL))
			say("NOT OK pthread_create\n");
	for (i = 0; i < CROWD; i++) {
		pthread_join(t[i], &left);
		if (i < 50)
			free(left);
	}
	expect("in_thread", 20 * CROWD, 19 * CROWD + 50, 210 * CROWD, 20 * (CROWD - 50));
}

static pthread_key_t key[2];

/* The value's first byte: how many rounds it has to go. */
static void round_done(void *value, pthread_key_t k)
{
	char left = *(char *)value;
	char *next;

	free(value);
	if (left == 0)
		return;
	next = in_destructor(64);
	*next = (char)(left - 1);
	pthread_setspecific(k, next);
}
static void first_done(void *v)
{
	round_done(v, key[0]);
}
static void last_done(void *v)
{
	round_done(v, key[1]);
}

static void *with_keys(void *arg)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		char *v = for_key(32);

		*v = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
		pthread_setspecific(key[i], v);
	}
	return arg;
}

static void keys(void)
{
	size_t i, n = 500, more = 2 * (PTHREAD_DESTRUCTOR_ITERATIONS - 1);
	pthread_t t;

	pthread_key_create(&key[0], first_done);
	pthread_key_create(&key[1], last_done);
	for (i = 0; i < n; i++) {
		pthread_create(&t, NULL, with_keys, NULL);
		pthread_join(t, NULL);
	}
	expect("for_key", 2 * n, 2 * n, 64 * n, 0);
	expect("in_destructor", more * n, more * n, 64 * more * n, 0);
}

/* A tiny stack must do for the first call at a new place. */
static void *tiny(void *arg)
{
	void *p = in_thread(1000), *q = in_destructor(1);

	free(p);
	free(q);
	return arg;
}

static void small(void)
{
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN), i, n = 20;
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	check(!pthread_attr_setstacksize(&attr, least), "stack size");
	for (i = 0; i < n; i++) {
		if (pthread_create(&t, &attr, tiny, NULL))
			say("NOT OK pthread_create\n");
		pthread_join(t, NULL);
	}
	expect("in_thread", n, n, 1000 * n, 0);
	expect("in_destructor", n, n, n, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "serial"))
		serial();
	else if (!strcmp(mode, "crowd"))
		crowd();
	else if (!strcmp(mode, "keys"))
		keys();
	else if (!strcmp(mode, "small"))
		small();
	else
		return 2;
	return 0;
}
