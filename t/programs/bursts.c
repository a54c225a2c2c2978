/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bursts.c SEED - bursts of threads: how many, at how many lines they allocate, whether they wait for
 * each other or end at once, is chance. A reader reads meanwhile, and main forks.
 *
 * Under the tracker it also says how much memory that takes it, living and ended.
 */
#include <semaphore.h>
#include <sys/wait.h>

#include "../lib/site.h"

#define S(n)                                \
	SITE void *s##n(size_t bytes)       \
	{                                   \
		return keep(malloc(bytes)); \
	}
#define EIGHT(DO, n) DO(n##0) DO(n##1) DO(n##2) DO(n##3) DO(n##4) DO(n##5) DO(n##6) DO(n##7)
#define LINES(DO)    \
	EIGHT(DO, 0) \
	EIGHT(DO, 1) EIGHT(DO, 2) EIGHT(DO, 3) EIGHT(DO, 4) EIGHT(DO, 5) EIGHT(DO, 6) EIGHT(DO, 7)
#define MORE(DO)     \
	EIGHT(DO, 8) \
	EIGHT(DO, 9) EIGHT(DO, a) EIGHT(DO, b) EIGHT(DO, c) EIGHT(DO, d) EIGHT(DO, e) EIGHT(DO, f)
LINES(S)
MORE(S)

#define POINTER(n) s##n,
#define NAME(n) "s" #n,
static void *(*const line[])(size_t) = { LINES(POINTER) MORE(POINTER) };
static const char *const name[] = { LINES(NAME) MORE(NAME) };
enum { N = sizeof(line) / sizeof(*line), BURSTS = 4, FEW = 4, LEFT = 1000, MOST = 1200 };

static struct {
	_Atomic uint64_t allocations, frees, total, live_bytes;
} did[N];
static void *left_over[N][LEFT]; /* blocks that outlive their threads */
static _Atomic uint32_t left_n[N];

static uint64_t dice = 1;
static uint32_t below(uint32_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)(dice >> 33) % n;
}

struct job {
	uint32_t first, lines, blocks;
	bool waits, leaves;
};
static struct job jobs[MOST];
static sem_t here, go;

static void end(uint32_t i, void *p, size_t bytes, bool leaves)
{
	uint32_t at = leaves ? left_n[i]++ : LEFT;

	if (at < LEFT) {
		left_over[i][at] = p;
		return;
	}
	free(p);
	did[i].frees++;
	did[i].live_bytes -= bytes;
}

static void *one(void *arg)
{
	const struct job *j = arg;
	void *p[N];
	uint32_t k, i;

	for (uint32_t b = 0; b < j->blocks; b++) {
		for (k = 0; k < j->lines; k++) {
			i = (j->first + k) % N;
			p[k] = line[i](i + 1);
			did[i].allocations++;
			did[i].total += i + 1;
			did[i].live_bytes += i + 1;
		}
		if (j->waits && !b) {
			sem_post(&here);
			while (sem_wait(&go) != 0)
				;
		}
		for (k = 0; k < j->lines; k++)
			end((j->first + k) % N, p[k], (j->first + k) % N + 1, j->leaves);
	}
	return NULL;
}

static const struct mw_api *api;
static _Atomic bool reads, stop;
static void *reader(void *arg)
{
	while (!stop) {
		if (reads && api)
			api->snapshot_free(api->snapshot());
		usleep(2000);
	}
	return arg;
}

static uint64_t own(void)
{
	struct mw_stats s = { 0 };

	if (api)
		api->stats(&s);
	return s.tracker_bytes;
}

static bool counts_are_right(void)
{
	struct mw_snapshot *s = api ? api->snapshot() : NULL;
	bool right = true;

	for (uint32_t i = 0; s && i < N; i++) {
		struct mw_row r = sum_at(s, name[i], NULL);

		right = right && r.allocations == did[i].allocations && r.frees == did[i].frees;
	}
	if (s)
		api->snapshot_free(s);
	return right;
}

static void start(pthread_t *t, struct job *j)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	if (pthread_create(t, &small, one, j) != 0)
		_exit(98);
	pthread_attr_destroy(&small);
}

/* All threads are at rest: the counts are the parent's. The child has threads, too. */
static void in_child(void)
{
	struct job j = { 0, N, 3, false, false };
	pthread_t t[20];
	bool right = counts_are_right();

	for (int i = 0; i < 20; i++)
		start(&t[i], &j);
	for (int i = 0; i < 20; i++)
		pthread_join(t[i], NULL);
	_exit(right && counts_are_right() ? 0 : 1);
}

static void child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		in_child();
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child counts right");
}

/* few: all of them wait, and allocate at few lines. */
static void burst(uint32_t n, bool few)
{
	static pthread_t t[MOST];
	uint32_t i, waiting = 0;
	uint64_t before = own();

	for (i = 0; i < n; i++) {
		jobs[i] = (struct job){ below(N), 1 + below(below(8) || few ? FEW : N), 1 + below(3),
					few || below(3), !few && !below(4) };
		waiting += jobs[i].waits;
		start(&t[i], &jobs[i]);
	}
	for (i = 0; i < waiting; i++)
		while (sem_wait(&here) != 0)
			;
	if (few && api)
		say("# %lu bytes a living thread\n", (own() - before) / n);
	for (i = 0; i < waiting; i++)
		sem_post(&go);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (below(2))
		child();
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, bytes;
	pthread_t r;

	api = tracker();
	dice = seed * 2654435761 + 1;
	sem_init(&here, 0, 0);
	sem_init(&go, 0, 0);
	pthread_create(&r, NULL, reader, NULL);
	burst(50, false);
	bytes = own();
	burst(MOST, true);
	for (int b = 0; b < BURSTS; b++) {
		reads = below(2);
		burst(200 + below(MOST - 200), false);
	}
	stop = true;
	pthread_join(r, NULL);
	check(counts_are_right(), "counts are right");
	child();
	say("# rss %zu\n", resident() / 1024);
	if (api)
		say("# %ld bytes more than before\n", (long)(own() - bytes));
	for (uint32_t i = 0; i < N; i++)
		expect(name[i], did[i].allocations, did[i].frees, did[i].total, did[i].live_bytes);
	return 0;
}
