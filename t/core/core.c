/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core.c MODE [BENEATH] - the tracker within a program, for the sanitizers.
 *
 * Linked with all of the tracker but its names (renamed.h). BENEATH is what is
 * beneath it: plain (the sanitizer's malloc, the default), glibc (chunks as
 * glibc's: the short way of a process without Ruby) or ruby (that of one with
 * Ruby).
 *
 * ring     threads allocate from 3,000 places and free each other's blocks
 * poll     the same while another thread reads every page and resets
 * sweep    ever new native and Ruby places, until some are retired, while read
 * threads  threads that come and go, with destructors that allocate
 * fork     a process with busy threads forks
 * signals  a handler allocates in the middle of the tracker's work
 * refuse   the tracker gets no memory, from its k-th request on, and only at it
 * sizes    blocks of 4 GiB and more, without the blocks
 * plant    instead of BENEATH, a mistake that is to be reported
 *
 * Prints "ok TEXT" and "NOT OK TEXT"; ends with "done MODE".
 */
#include <sched.h>

#include "../../src/server/pages/routes.h"
#include "core.h"

enum { RING = 64 };

bool finished, starving;
struct timespec a_while;
struct did did;

void made(struct block *b, size_t n)
{
	b->size = n;
	memset(b->fill, (int)n & 0xff, n - sizeof(*b));
	mw_add(&did.calls, 1);
	mw_add(&did.bytes, n);
}

static void whole(const struct block *b)
{
	for (size_t i = 0; i < b->size - sizeof(*b); i++)
		if (b->fill[i] != (b->size & 0xff)) {
			check(false, "a block of %zu bytes kept what was in it", b->size);
			return;
		}
}

/* By one of the family's calls, the size being what only the caller knows. */
struct block *make(unsigned k)
{
	size_t n = sizeof(struct block) + (k * 37u) % 900;
	struct block *b = NULL;
	void *p = NULL;

	if (k % 1500 == 7)
		n += 200000;
	switch (k % 8) {
	case 0:
		b = app_malloc(n);
		break;
	case 1:
		b = app_calloc(1, n);
		break;
	case 2:
		b = app_realloc(NULL, n);
		break;
	case 3:
		b = app_posix_memalign(&p, 64, n) ? NULL : p;
		break;
	default:
		b = mw_alloc_at(&(struct mw_alloc_call){ .how = k % 16 == 5 ? MW_MEMALIGN : MW_MALLOC,
							 .n = n,
							 .align = 32 },
				place(k % PLACES));
	}
	if (!b) {
		check(false, "call %u got a block", k);
		_exit(1);
	}
	if (app_malloc_usable_size(b) < n)
		check(false, "usable size of %zu", n);
	made(b, n);
	return b;
}

void drop(struct block *b)
{
	whole(b);
	mw_add(&did.frees, 1);
	mw_add(&did.freed, b->size);
	app_free(b);
}

struct block *regrow(struct block *b, size_t n)
{
	struct block *q;

	whole(b);
	mw_add(&did.frees, 1);
	mw_add(&did.freed, b->size);
	q = app_realloc(b, n);
	if (q)
		made(q, n);
	return q;
}

/* The sums since the last reset; resets: only what lives is known. */
void sums(const char *when, bool resets)
{
	struct mw_stats s;
	struct mw_lives *l;
	uint64_t lost;

	a->stats(&s);
	lost = s.lost;
	check(lost == 0, "%s: nothing is lost", when);
	if (s.stacks_rate && s.stacks_rate <= 4096) /* by default they are rare */
		check(s.stacks_samples > 20, "%s: %lu samples", when, s.stacks_samples);
	if (!resets)
		check(s.allocations == did.calls && s.total == did.bytes && s.frees == did.frees &&
			      s.freed == did.freed,
		      "%s: %lu of %lu calls, %lu of %lu frees, %lu of %lu bytes", when, s.allocations,
		      did.calls, s.frees, did.frees, s.total, did.bytes);
	check(s.live == did.calls - did.frees && s.live_bytes == did.bytes - did.freed,
	      "%s: %lu of %lu blocks live", when, s.live, did.calls - did.frees);
	l = a->lives(NULL, 0);
	check(l && l->n == s.live, "%s: as many are listed", when);
	for (size_t i = 0; l && i < l->n; i++)
		if (((struct block *)l->v[i].addr)->size != l->v[i].size)
			check(false, "%s: a listed block's size is its size", when);
	a->lives_free(l);
}

/* --- ring ------------------------------------------------------------------------ */

static struct ring {
	size_t in, out; /* release; one writer each */
	struct block *slot[RING];
} rings[THREADS];

static unsigned turns;

static struct block *get(struct ring *r)
{
	struct block *b;

	if (__atomic_load_n(&r->in, __ATOMIC_ACQUIRE) == r->out)
		return NULL;
	b = r->slot[r->out % RING];
	__atomic_store_n(&r->out, r->out + 1, __ATOMIC_RELEASE);
	return b;
}

static bool put(struct ring *r, struct block *b)
{
	if (r->in - __atomic_load_n(&r->out, __ATOMIC_ACQUIRE) == RING)
		return false;
	r->slot[r->in % RING] = b;
	__atomic_store_n(&r->in, r->in + 1, __ATOMIC_RELEASE);
	return true;
}

static void *turn(void *arg)
{
	size_t me = (size_t)arg, got = 0, gave = 0;
	struct block *b = NULL;

	while (gave < turns || got < turns) {
		if (!b && gave < turns)
			b = make((unsigned)(gave * THREADS + me));
		if (b && put(&rings[(me + 1) % THREADS], b)) {
			b = NULL;
			gave++;
			mw_add(&beneath_gc, gave % 100 == 0);
		}
		struct block *theirs = get(&rings[me]);

		if (theirs && got++ % 50) /* every 50th stays */
			drop(got % 3 ? theirs : regrow(theirs, sizeof(*theirs) + got % 3000));
		else if (!theirs)
			sched_yield();
	}
	return NULL;
}

static const char *header(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return NULL;
}

/* Everything that reads; some pages, in turn. */
void look(unsigned i)
{
	static const char *const paths[][2] = {
		{ "/", "" },
		{ "/each/0", "sort=live&group=file" },
		{ "/each/100.json", "limit=20" },
		{ "/each/0.tsv", "q=rb&group=gem" },
		{ "/stats.json", "" },
		{ "/at", "location=/a/0.rb%3A1" },
		{ "/at/%5B0x1000%5D.json", "" },
		{ "/each/0.csv", "offset=5" },
		{ "/stacks.collapsed", "by=total" },
		{ "/debug/pprof/heap", "" },
		{ "/flame.json", "invert=1" },
	};
	enum { N = sizeof(paths) / sizeof(*paths) };
	struct mw_request req = { .method = "GET",
				  .path = paths[i % N][0],
				  .query = paths[i % N][1],
				  .base = "",
				  .peer = MW_PEER_UNIX,
				  .header = header };
	struct mw_response res = { 0 };
	struct mw_lives *l;
	struct mw_row row;
	uint32_t ids[2] = { MW_CS_FIRST, MW_CS_FIRST + 1 };

	mw_quiet_enter();
	mw_route(a, &req, &res);
	if (res.status != 200 && res.status != 404 && !(starving && res.status == 500))
		check(false, "%s is %d", req.path, res.status);
	mw_response_free(&res);
	mw_quiet_leave();
	l = a->lives(ids, 2);
	a->lives_free(l);
	if (a->find("/a/0.rb:1", 9, &row) && row.live > 1000000)
		check(false, "a found row is sane: %lu", row.live);
}

static void *keep_looking(void *arg)
{
	unsigned i = 0, least = a_while.tv_nsec ? 2 : 16;

	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE) || i < least) {
		look(i++);
		if (arg && i % 3 == 0)
			a->reset();
		if (a_while.tv_nsec)
			nanosleep(&a_while, NULL);
		else
			sched_yield();
	}
	check(true, "read %s", i >= 16 ? "often" : "now and then");
	return NULL;
}

void all_threads(void *(*run)(void *), bool polled, bool resets)
{
	pthread_t t[THREADS], p;

	if (polled)
		check(!pthread_create(&p, NULL, keep_looking, resets ? &p : NULL), "a reader");
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, (void *)i))
			check(false, "a thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	if (polled)
		pthread_join(p, NULL);
}

static void ring(bool polled)
{
	turns = polled ? 6000 : 10000;
	all_threads(turn, polled, polled);
	sums(polled ? "read and reset" : "a ring", polled);
	a->reset();
	did.bytes -= did.freed;
	did.calls -= did.frees;
	did.freed = did.frees = 0;
	sums("after a reset", true);
}

/* --- plant ------------------------------------------------------------------------------------ */

static uint64_t raced;

static void *race(void *arg)
{
	raced += (uint64_t)(uintptr_t)arg;
	return NULL;
}

static void plant(const char *what)
{
	if (!strcmp(what, "overrun")) {
		char *p = app_malloc(40);

		p[hide(40 + MW_TAIL)] = 1;
		keep(p);
	} else if (!strcmp(what, "overflow")) {
		int n = INT32_MAX - (int)hide(1);

		n += 2;
		say("%d\n", n);
	} else if (!strcmp(what, "race")) {
		all_threads(race, false, false);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *beneath = argc > 2 ? argv[2] : "plain";

	if (!strcmp(mode, "plant")) {
		plant(beneath);
		return 0;
	}

	if (!check(mw_life == MW_ON, "the tracker is on"))
		return 1;
	if (strcmp(beneath, "plain"))
		beneath_like_glibc(!strcmp(beneath, "ruby"));
	check(mw_mode() == (!strcmp(beneath, "plain") ? MW_MODE_NONE :
			    !strcmp(beneath, "ruby")  ? MW_MODE_RUBY :
							MW_MODE_BYTES),
	      "the way of %s", beneath);
	if (!strcmp(mode, "ring") || !strcmp(mode, "poll"))
		ring(!strcmp(mode, "poll"));
	else if (!strcmp(mode, "sweep"))
		sweep();
	else if (!strcmp(mode, "threads"))
		threads();
	else if (!strcmp(mode, "fork"))
		forks();
	else if (!strcmp(mode, "signals"))
		signals();
	else if (!strcmp(mode, "refuse"))
		refuse();
	else if (!strcmp(mode, "sizes"))
		sizes();
	else
		return 2;
	say("done %s\n", mode);
	return 0;
}
