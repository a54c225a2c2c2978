/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandboxed.c SEED [wait|overrun|fork] - allocates by chance in a sandbox (t/preload/sandbox.c), in threads made before:
 * at 10,000 places, of any size, in all ways that there are; blocks change hands, and threads free others'.
 *
 * wait: a byte of stdin comes first, and its end last. overrun: writes past the end of a block in between. fork: has
 * a child, which allocates, before that.
 */
#include <malloc.h>
#include <semaphore.h>
#include <sys/wait.h>

#include "../lib/site.h"

enum { THREADS = 4, SHARED = 512, ROUNDS = 20000 };
static void *_Atomic shared[SHARED];
static sem_t here, begin, done, never;

struct dice {
	uint64_t state;
};
static uint32_t below(struct dice *d, uint32_t n)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (uint32_t)(d->state >> 33) % n;
}

/* Natively a block has room for a byte more. Under the tracker most haven't: some are cut from larger ones. */
SITE void overrun(void)
{
	char *p[100];

	for (int i = 0; i < 100; i++) {
		p[i] = keep(malloc(32));
		p[i][hide(32)] = 'x';
	}
	STAY();
	for (int i = 0; i < 100; i++)
		free(p[i]);
}

/* Most are small; one in a thousand may have megabytes. */
static size_t any_size(struct dice *d)
{
	size_t most = (size_t)16 << below(d, below(d, 1000) ? 12 : 19);

	return 1 + below(d, (uint32_t)most);
}

#define P                                \
	p = keep(malloc(below(d, 200))); \
	free(p);
#define P10 P P P P P P P P P P
#define P100 P10 P10 P10 P10 P10 P10 P10 P10 P10 P10
#define P1000 P100 P100 P100 P100 P100 P100 P100 P100 P100 P100
SITE void at_many_places(struct dice *d)
{
	void *p;

	P1000 P1000 P1000 P1000 P1000 P1000 P1000 P1000 P1000 P1000
}

static void *any_block(struct dice *d)
{
	size_t n = any_size(d);
	void *p = NULL;

	switch (below(d, 8)) {
	case 0:
		return calloc(1 + n / 16, 16);
	case 1:
		return aligned_alloc((size_t)16 << below(d, 9), n / 8192 * 8192 + 8192);
	case 2:
		return posix_memalign(&p, (size_t)8 << below(d, 10), n) ? NULL : p;
	case 3:
		return reallocarray(NULL, n, 1);
	case 4:
		return strdup("a text of some bytes");
	default:
		return malloc(n);
	}
}

SITE void any_calls(struct dice *d)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = atomic_exchange(&shared[below(d, SHARED)], NULL);

		if (p && !below(d, 3)) {
			void *q = realloc(p, any_size(d));

			p = q ? q : p;
		} else if (p && malloc_usable_size(p) > 0) {
			free(p);
			p = NULL;
		}
		p = p ? p : any_block(d);
		if (p)
			memset(p, 1, malloc_usable_size(p) < 4096 ? malloc_usable_size(p) : 4096);
		free(atomic_exchange(&shared[below(d, SHARED)], p));
	}
}

static void *one(void *arg)
{
	struct dice *d = arg;

	sem_post(&here); /* while a thread starts, it blocks all signals, and makes calls of its own */
	while (sem_wait(&begin) != 0)
		;
	any_calls(d);
	if (below(d, 2))
		at_many_places(d);
	any_calls(d);
	sem_post(&done);
	while (true)
		sem_wait(&never); /* another thread may still wait for its begin */
	return NULL;
}

/* The child ends by _exit(2): what its exit needs is another part's. */
static void child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(1000));
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		say("the child didn't end well\n");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	struct dice d[THREADS + 1];
	void (*enter)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "enter_sandbox");
	uint32_t threads = (uint32_t)(seed % (THREADS + 1)), i;
	pthread_t t;
	char c;

	sem_init(&here, 0, 0);
	sem_init(&begin, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&never, 0, 0);
	for (i = 0; i <= THREADS; i++)
		d[i].state = (seed + 1) * 2654435761 + i * 40503;
	for (i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, one, &d[i]) != 0)
			return 1;
	for (i = 0; i < threads; i++)
		while (sem_wait(&here) != 0)
			;
	if (argc > 2 && read(0, &c, 1) != 1)
		return 1;
	if (enter)
		enter();
	for (i = 0; i < threads; i++)
		sem_post(&begin);
	any_calls(&d[THREADS]);
	at_many_places(&d[THREADS]);
	any_calls(&d[THREADS]);
	for (i = 0; i < threads; i++)
		while (sem_wait(&done) != 0)
			;
	if (argc > 2 && !strcmp(argv[2], "overrun"))
		overrun();
	if (argc > 2 && !strcmp(argv[2], "fork"))
		child();
	say("ok\n");
	while (argc > 2 && read(0, &c, 1) > 0)
		;
	if (argc > 2) /* as programs end, but for the threads */
		exit(0);
	_exit(0);
}
