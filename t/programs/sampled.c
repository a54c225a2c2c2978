/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampled.c SEED - threads that allocate, move, free and hand blocks over at random, while allocations are sampled, then
 * while every block is counted, then while they are sampled again. A child is forked in each part. At last both
 * change again and again under way: then only the program's own behaviour counts.
 *
 * Each part has functions of its own. The program keeps a ledger of the bytes that live of each:
 *
 *   # PART live FUNCTION BYTES ESTIMATE ERROR     the table's bytes, and how far they may be off, as it says
 */
#include <malloc.h>
#include <sys/wait.h>

#include "../lib/site.h"
#include "../../src/shared/sys/root.h"

enum { THREADS = 4, SLOTS = 600, ROUNDS = 30000, KINDS = 3, PARTS = 3 };
enum { CROWD = 40, CROWD_ROUNDS = 3000, CHANGES = 100 };

/* bytes: small ones of which few are samples, middle ones, and some that each are */
static const size_t least[KINDS] = { 1, 500, 20000 }, most[KINDS] = { 200, 4000, 200000 };

#define SITES(part)                                                \
	MALLOC_SITE(part##_small)                                  \
	SITE void *part##_middle(size_t n)                         \
	{                                                          \
		return keep(calloc(1, n));                         \
	}                                                          \
	SITE void *part##_large(size_t n)                          \
	{                                                          \
		void *p = NULL;                                    \
                                                                   \
		return posix_memalign(&p, 64, n) ? NULL : keep(p); \
	}                                                          \
	REALLOC_SITE(part##_moved)
SITES(first)
SITES(exact)
SITES(last)

static void *(*const make[PARTS][KINDS])(size_t) = {
	{ first_small, first_middle, first_large },
	{ exact_small, exact_middle, exact_large },
	{ last_small, last_middle, last_large },
};
static void *(*const move[PARTS])(void *, size_t) = { first_moved, exact_moved, last_moved };
static const char *const names[PARTS][KINDS + 1] = {
	{ "first_small", "first_middle", "first_large", "first_moved" },
	{ "exact_small", "exact_middle", "exact_large", "exact_moved" },
	{ "last_small", "last_middle", "last_large", "last_moved" },
};

/* Each function's live and ever allocated blocks: atomic, since any thread frees any block. */
static struct {
	_Atomic int64_t allocs, frees, total, bytes;
} ledger[PARTS][KINDS + 1];

static struct {
	_Atomic(void *) p; /* exchanged: who has it owns it */
} slots[SLOTS];

/* Before each block's bytes. */
struct head {
	uint32_t part, kind;
	size_t n;
};

static _Atomic int part;
static pthread_barrier_t begin, end;

static void born(void *p, int of, int kind, size_t n)
{
	*(struct head *)p = (struct head){ (uint32_t)of, (uint32_t)kind, n };
	ledger[of][kind].allocs++;
	ledger[of][kind].total += (int64_t)n;
	ledger[of][kind].bytes += (int64_t)n;
}

static void dies(const void *p)
{
	const struct head *h = p;

	ledger[h->part][h->kind].frees++;
	ledger[h->part][h->kind].bytes -= (int64_t)h->n;
}

static size_t size_of(unsigned *seed, int kind)
{
	return sizeof(struct head) + least[kind] + (size_t)rand_r(seed) % (most[kind] - least[kind]);
}

static void once(unsigned *seed, int now)
{
	int kind = rand_r(seed) % 40, i = rand_r(seed) % SLOTS;
	void *p = atomic_exchange(&slots[i].p, NULL);
	size_t n;

	kind = kind < 30 ? 0 : kind < 39 ? 1 : 2;
	n = size_of(seed, kind);
	if (p && rand_r(seed) % 4 == 0) {
		dies(p);
		p = move[now](p, n);
		born(p, now, KINDS, n);
	} else {
		if (p) {
			dies(p);
			if (malloc_usable_size(p) < ((struct head *)p)->n)
				_exit(97);
			free(p);
		}
		p = make[now][kind](n);
		born(p, now, kind, n);
	}
	p = atomic_exchange(&slots[i].p, p);
	if (p) {
		dies(p);
		free(p);
	}
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int now = 0; now <= PARTS; now++) {
		pthread_barrier_wait(&begin);
		for (int i = 0; i < ROUNDS; i++)
			once(&seed, now < PARTS ? now : PARTS - 1);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

/* Comes in while the last part changes again and again. */
static void *crowd(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < CROWD_ROUNDS; i++)
		once(&seed, PARTS - 1);
	return NULL;
}

/* The table's row of a function. */
static struct mw_row row_of(const struct mw_api *a, const char *function)
{
	struct mw_snapshot *s = a->snapshot();
	struct mw_row sum = { 0 };
	char mark[40];

	snprintf(mark, sizeof(mark), "(%s+0x", function);
	for (size_t i = 0; i < s->n; i++) {
		if (!strstr(s->rows[i].location, mark))
			continue;
		sum.live_bytes += s->rows[i].live_bytes;
		sum.live_variance += s->rows[i].live_variance;
	}
	a->snapshot_free(s);
	return sum;
}

static void tell(const struct mw_api *a, const char *what)
{
	for (int of = 0; a && of < PARTS; of++)
		for (int kind = 0; kind <= KINDS; kind++) {
			struct mw_row r = row_of(a, names[of][kind]);

			say("# %s live %s %ld %lu %lu\n", what, names[of][kind],
			    (long)ledger[of][kind].bytes, r.live_bytes,
			    (unsigned long)(2048 * mw_root((double)r.live_variance)));
		}
}

/* A child goes on alone, and counts as its parent did. */
static void in_child(const struct mw_api *a)
{
	unsigned seed = 1;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < ROUNDS / 4; i++)
			once(&seed, atomic_load(&part));
		tell(a, "child");
		_exit(0);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

int main(int argc, char **argv)
{
	uintptr_t seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	const struct mw_api *a = tracker();
	pthread_t t[THREADS], others[CROWD];
	int changed = 0;

	pthread_barrier_init(&begin, NULL, THREADS + 1);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(seed * THREADS + i));
	for (int now = 0; now < PARTS; now++) {
		part = now;
		/* the change comes while threads wait; the ones in the middle of a part are the next test's */
		check(!a || a->count(now == 1, 0), "a change");
		pthread_barrier_wait(&begin);
		if (now == 0 && a) /* to what it is already, under way */
			check(a->count(false, 0), "no change");
		pthread_barrier_wait(&end);
		tell(a, now == 0 ? "sampled" : now == 1 ? "exact" : "again");
		in_child(a);
	}
	pthread_barrier_wait(&begin);
	for (uintptr_t i = 0; i < CHANGES; i++) {
		if (i < CROWD)
			pthread_create(&others[i], NULL, crowd, (void *)(seed * CROWD + i));
		changed += a && a->count(i % 2 == 0, 0);
	}
	/* one is refused if a thread doesn't leave the tracker for seconds: on a busy machine */
	check(!a || changed > CHANGES / 2, "changes under way");
	for (int i = 0; i < CROWD; i++)
		pthread_join(others[i], NULL);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		free(slots[i].p);
	say("done\n");
	return 0;
}
