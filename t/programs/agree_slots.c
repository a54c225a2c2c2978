/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree_slots.c - 8 threads which allocate and free each other's blocks when
 * they are told to, and wait without allocating anything in between. Lines on
 * stdin:
 *
 *   run       work until park
 *   park      all threads wait again
 *   count N   start the counts again, then N steps of each thread
 *   join      the threads end; steps are over
 *   end       (or the end of stdin) exit
 *
 * Each is answered with "expect" lines (site.h), which count from the start or
 * from the last count, and then "done". A step puts a new block into one of the
 * slots, most of which all threads share, and frees what was in it, by whomever it was
 * made; some are realloc'ed before, or stay through a realloc.
 */

#include "../lib/site.h"

#define THREADS 8
#define SLOTS 4096
#define OWN 64 /* further slots of each thread, so that it has something live */

/* clang-format off */
#define MAKE(i) SITE void *make##i(size_t n) { return keep(malloc(n)); }
#define GROW(i) SITE void *grow##i(void *p, size_t n) { return keep(realloc(p, n)); }
MAKE(0) MAKE(1) MAKE(2) MAKE(3) MAKE(4) MAKE(5) MAKE(6) MAKE(7)
GROW(0) GROW(1) GROW(2) GROW(3) GROW(4) GROW(5) GROW(6) GROW(7)
static void *(*const make[THREADS])(size_t) = { make0, make1, make2, make3, make4, make5, make6, make7 };
static void *(*const grow[THREADS])(void *, size_t) = { grow0, grow1, grow2, grow3, grow4, grow5, grow6, grow7 };
/* clang-format on */

/* Lines: 0 to 7 are make's, 8 to 15 grow's. */
#define LINES (2 * THREADS)

/* At the front of each block. */
struct block {
	uint32_t line;
	uint32_t size;
};

/* One thread's calls at one line; no other thread writes it. */
struct did {
	uint64_t made, made_bytes, freed, freed_bytes;
};

static struct did did[THREADS][LINES];
static uint64_t live_before[LINES], bytes_before[LINES]; /* at the last count */
static _Atomic(struct block *) slot[SLOTS + THREADS * OWN];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t round_no; /* under the mutex: threads work once for each */
static unsigned at_work;
static uint64_t steps; /* of this round; 0: until stop */
static bool over;
static _Atomic bool stop;

static struct block *mark(void *p, size_t me, uint32_t line, size_t size)
{
	struct block *b = p;

	if (!b) {
		say("NOT OK no memory\n");
		_exit(1);
	}
	b->line = line;
	b->size = (uint32_t)size;
	did[me][line].made++;
	did[me][line].made_bytes += size;
	return b;
}

/* Before it is freed: nothing of it may be read after that. */
static void leaves(size_t me, const struct block *b)
{
	did[me][b->line].freed++;
	did[me][b->line].freed_bytes += b->size;
}

static struct block *regrow(size_t me, struct block *b, size_t size)
{
	leaves(me, b);
	return mark(grow[me](b, size), me, (uint32_t)(THREADS + me), size);
}

static size_t slot_of(size_t me, uint64_t k)
{
	if (k % 51 == 0)
		return SLOTS + me * OWN + k / 51 % OWN;
	return (k * 40503 + me * 977) % SLOTS;
}

static void step(size_t me, uint64_t k)
{
	size_t size = 16 + (k * 37 + me * 101) % 3000;
	struct block *b = mark(make[me](size), me, (uint32_t)me, size);

	if (k % 5 == 0)
		b = regrow(me, b, size * 3);
	b = atomic_exchange(&slot[slot_of(me, k)], b);
	if (!b)
		return;
	if (k % 7 == 0)
		b = regrow(me, b, 16 + b->size / 2);
	leaves(me, b);
	free(b);
}

static void work(size_t me, uint64_t n)
{
	static uint64_t k[THREADS];
	uint64_t i;

	for (i = 0; n ? i < n : !atomic_load(&stop); i++)
		step(me, k[me]++);
}

static void *thread(void *arg)
{
	size_t me = (size_t)arg;
	uint64_t seen = 0, n;

	pthread_mutex_lock(&mutex);
	while (!over) {
		if (round_no == seen) {
			pthread_cond_wait(&changed, &mutex);
			continue;
		}
		seen = round_no;
		n = steps;
		pthread_mutex_unlock(&mutex);
		work(me, n);
		pthread_mutex_lock(&mutex);
		at_work--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void start(uint64_t n)
{
	pthread_mutex_lock(&mutex);
	atomic_store(&stop, false);
	steps = n;
	at_work = THREADS;
	round_no++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void wait_parked(void)
{
	pthread_mutex_lock(&mutex);
	while (at_work)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static struct expected known(uint32_t line)
{
	struct expected e = { .live = live_before[line], .live_bytes = bytes_before[line] };
	size_t t;

	for (t = 0; t < THREADS; t++) {
		const struct did *d = &did[t][line];

		e.allocations += d->made;
		e.frees += d->freed;
		e.total += d->made_bytes;
		e.live += d->made - d->freed;
		e.live_bytes += d->made_bytes - d->freed_bytes;
	}
	e.growth = (int64_t)(e.live_bytes - bytes_before[line]);
	return e;
}

static void answer(void)
{
	char name[16];
	uint32_t i;

	for (i = 0; i < LINES; i++) {
		snprintf(name, sizeof(name), "%s%u", i < THREADS ? "make" : "grow", i % THREADS);
		expect_all(name, known(i));
	}
	say("done\n");
}

static void count_from_here(void)
{
	uint32_t i;

	for (i = 0; i < LINES; i++) {
		struct expected e = known(i);

		live_before[i] = e.live;
		bytes_before[i] = e.live_bytes;
	}
	memset(did, 0, sizeof(did));
}

/* One line without its newline; false at the end. Allocates nothing, as stdio would. */
static bool read_line(char *s, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(0, s + n, 1) == 1) {
		if (s[n] == '\n') {
			s[n] = 0;
			return true;
		}
		n++;
	}
	return false;
}

int main(void)
{
	pthread_t th[THREADS];
	char line[64];
	size_t t;
	bool joined = false;

	if (!keep(strdup("a line of libc")))
		return 1;
	for (t = 0; t < THREADS; t++)
		if (pthread_create(&th[t], NULL, thread, (void *)t))
			return 1;
	while (read_line(line, sizeof(line)) && strcmp(line, "end")) {
		if (!strcmp(line, "run")) {
			start(0);
		} else if (!strcmp(line, "park")) {
			atomic_store(&stop, true);
			wait_parked();
		} else if (!strncmp(line, "count ", 6)) {
			count_from_here();
			start(strtoull(line + 6, NULL, 10));
			wait_parked();
		} else if (!strcmp(line, "join") && !joined) {
			pthread_mutex_lock(&mutex);
			over = joined = true;
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&mutex);
			for (t = 0; t < THREADS; t++)
				pthread_join(th[t], NULL);
		} else {
			say("NOT OK %s\n", line);
			return 2;
		}
		if (!strcmp(line, "run"))
			say("done\n");
		else
			answer();
	}
	return 0;
}
