/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring.c [BLOCKS [poll]] - 8 threads; each allocates for the next one, which
 * frees, or reallocs and frees. Every 100th block stays. The counts of each
 * thread's own function are exact. With poll another thread looks at
 * everything and resets all the while, and the counts since a last reset,
 * and what lives, are exact again.
 */
#include <sched.h>

#include "../lib/site.h"

#define THREADS 8
#define RING 256
static size_t blocks = 50000;

static size_t size_of(size_t thread, size_t k)
{
	return 16 + (k * 37 + thread * 101) % 2000;
}

/* clang-format off */
#define MAKE(i) SITE void *make##i(size_t n) { return keep(malloc(n)); }
#define REGROW(i) SITE void *regrow##i(void *p, size_t n) { return keep(realloc(p, n)); }
MAKE(0) MAKE(1) MAKE(2) MAKE(3) MAKE(4) MAKE(5) MAKE(6) MAKE(7)
REGROW(0) REGROW(1) REGROW(2) REGROW(3) REGROW(4) REGROW(5) REGROW(6) REGROW(7)
static void *(*const make[THREADS])(size_t) = { make0, make1, make2, make3, make4, make5, make6, make7 };
static void *(*const regrow[THREADS])(void *, size_t) = { regrow0, regrow1, regrow2, regrow3,
							   regrow4, regrow5, regrow6, regrow7 };
/* clang-format on */

/* One writer, one reader. */
static struct ring {
	_Atomic size_t in, out;
	void *slot[RING];
} rings[THREADS];

static void **kept[THREADS];
static _Atomic bool finished;

static bool put(struct ring *r, void *p)
{
	if (r->in - r->out == RING)
		return false;
	r->slot[r->in % RING] = p;
	r->in++;
	return true;
}

static void *get(struct ring *r)
{
	void *p;

	if (r->in == r->out)
		return NULL;
	p = r->slot[r->out % RING];
	r->out++;
	return p;
}

static void take(size_t me, size_t *got)
{
	size_t k = *got;
	void *p = get(&rings[me]);

	if (!p)
		return;
	*got += 1;
	if (k % 100 == 0)
		kept[me][k / 100] = p;
	else if (k % 3 == 0)
		free(regrow[me](p, size_of(me, k) * 2));
	else
		free(p);
}

static void *worker(void *arg)
{
	size_t me = (size_t)arg, next = (me + 1) % THREADS, sent = 0, got = 0;
	void *p = NULL;

	while (sent < blocks || got < blocks) {
		size_t before = sent + got;

		if (!p && sent < blocks)
			p = make[me](size_of(me, sent));
		if (p && put(&rings[next], p)) {
			p = NULL;
			sent++;
		}
		take(me, &got);
		if (sent + got == before)
			sched_yield();
	}
	return NULL;
}

/* The sums of the thread's function and of its successor's regrow. */
static void known(size_t t, struct expected *m, struct expected *g)
{
	size_t k, next = (t + 1) % THREADS;

	memset(m, 0, sizeof(*m));
	memset(g, 0, sizeof(*g));
	for (k = 0; k < blocks; k++) {
		m->allocations++;
		m->total += size_of(t, k);
		if (k % 100 == 0) {
			m->live++;
			m->live_bytes += size_of(t, k);
			continue;
		}
		m->frees++;
		if (k % 3 == 0) {
			g->allocations++;
			g->frees++;
			g->total += size_of(next, k) * 2;
		}
	}
	m->growth = (int64_t)m->live_bytes;
}

static bool sane(const struct mw_row *r)
{
	const uint64_t most = (uint64_t)1 << 60;

	return r->total < most && r->allocations < most && r->frees < most && r->freed < most &&
	       r->live < most && r->live_bytes < most && r->growth < (int64_t)most &&
	       r->growth > -(int64_t)most;
}

static void *poller(void *arg)
{
	const struct mw_api *a = tracker();
	size_t rounds = 0, bad = 0, i;

	(void)arg;
	while (a && (!finished || !rounds)) { /* once, however late it begins */
		struct mw_snapshot *s = a->snapshot();
		struct mw_lives *l = rounds % 10 ? NULL : a->lives(NULL, 0);

		for (i = 0; s && i < s->n; i++)
			bad += !sane(&s->rows[i]);
		for (i = 0; l && i < l->n; i++)
			bad += !l->v[i].addr || l->v[i].size > ((uint64_t)1 << 40);
		if (s)
			a->snapshot_free(s);
		if (l)
			a->lives_free(l);
		if (rounds++ % 2)
			a->reset();
	}
	if (a)
		say("# api %zu\n", rounds);
	if (bad)
		say("NOT OK %zu rows or blocks were absurd\n", bad);
	return NULL;
}

/* All is quiet: what the rows say, then a reset, then some known calls. */
static void after_polling(void)
{
	const struct mw_api *a = tracker();
	struct mw_snapshot *s;
	struct expected m, g;
	struct mw_row r;
	char name[16];
	size_t t, i;

	s = a ? a->snapshot() : NULL;
	for (i = 0; s && i < s->n; i++)
		if (s->rows[i].growth != (int64_t)(s->rows[i].total - s->rows[i].freed))
			say("NOT OK growth isn't total - freed: %s\n", s->rows[i].location);
	for (t = 0; s && t < THREADS; t++) {
		known(t, &m, &g);
		snprintf(name, sizeof(name), "make%zu", t);
		r = sum_at(s, name, NULL);
		if (r.live != m.live || r.live_bytes != m.live_bytes)
			say("NOT OK %s: %lu live of %lu bytes\n", name, r.live, r.live_bytes);
	}
	if (s)
		a->snapshot_free(s);
	if (a)
		a->reset();
	/* each thread's second kept block was made by the one before it */
	for (t = 0; t < THREADS; t++) {
		free(kept[t][1]);
		kept[t][1] = make[t](5000);
	}
	for (t = 0; t < THREADS; t++) {
		size_t old = size_of(t, 100);

		known(t, &m, &g);
		snprintf(name, sizeof(name), "make%zu", t);
		expect_all(name, (struct expected){ 1, 1, 5000, m.live, m.live_bytes + 5000 - old,
						    5000 - (int64_t)old });
	}
}

int main(int argc, char **argv)
{
	bool poll = argc > 2 && !strcmp(argv[2], "poll");
	pthread_t th[THREADS], watcher;
	struct expected m, g;
	char name[16];
	size_t t;

	if (argc > 1)
		blocks = strtoul(argv[1], NULL, 10);
	for (t = 0; t < THREADS; t++)
		kept[t] = calloc(blocks / 100 + 1, sizeof(void *));
	if (poll)
		pthread_create(&watcher, NULL, poller, NULL);
	for (t = 0; t < THREADS; t++)
		pthread_create(&th[t], NULL, worker, (void *)t);
	for (t = 0; t < THREADS; t++)
		pthread_join(th[t], NULL);
	finished = true;
	if (poll) {
		pthread_join(watcher, NULL);
		after_polling();
		return 0;
	}
	for (t = 0; t < THREADS; t++) {
		known(t, &m, &g);
		snprintf(name, sizeof(name), "make%zu", t);
		expect_all(name, m);
		snprintf(name, sizeof(name), "regrow%zu", (t + 1) % THREADS);
		expect_all(name, g);
	}
	return 0;
}
