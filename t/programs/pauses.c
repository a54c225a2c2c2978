/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pauses.c - tracking is turned off and on through struct mw_api.
 *
 *   calm     one thread: what is allocated while it is off is not counted, by
 *            whatever call; what was live stays known, and its frees count
 *   threads  four threads allocate, realloc and free while it is switched
 *            2,000 times: every count is one that they can have made
 *   fork     a child inherits it
 *
 * Natively it prints what the calls themselves promise.
 */
#include <malloc.h>
#include <sys/wait.h>

#include "../lib/site.h"

enum { CALLS = 1000, THREADS = 4, KEEP = 64, SWITCHES = 2000 };

static const struct mw_api *a;
static void *known[CALLS], *unknown[CALLS];

MALLOC_SITE(site_known);
MALLOC_SITE(site_off);
REALLOC_SITE(site_grown);
MALLOC_SITE(site_busy);
REALLOC_SITE(site_busy_grown);

static void pause_tracking(bool on)
{
	if (a)
		a->pause(on);
}

static void is_row(const char *function, struct expected e, const char *when)
{
	struct mw_snapshot *s = a ? a->snapshot() : NULL;
	struct mw_row r = sum_at(s, function, NULL);

	if (!a)
		return;
	check(s && r.allocations == e.allocations && r.frees == e.frees && r.total == e.total &&
		      r.live == e.live && r.live_bytes == e.live_bytes && r.growth == e.growth,
	      "%s %s: %lu %lu %lu %lu %lu %ld", function, when, r.allocations, r.frees, r.total, r.live,
	      r.live_bytes, r.growth);
	a->snapshot_free(s);
}

/* One block by each call there is. */
SITE void every_call(void **out, size_t n)
{
	size_t i = 0;
	void *p = NULL;

	out[i++] = keep(malloc(n));
	out[i++] = keep(calloc(n, 1));
	out[i++] = keep(realloc(NULL, n));
	out[i++] = keep(memalign(64, n));
	out[i++] = keep(aligned_alloc(64, 128));
	out[i++] = keep(valloc(n));
	out[i++] = keep(reallocarray(NULL, n, 1));
	check(posix_memalign(&p, 256, n) == 0, "posix_memalign");
	out[i++] = keep(p);
	out[i++] = keep(malloc((size_t)1 << 22)); /* mmapped */
	for (size_t k = 0; k < i; k++)
		check(out[k] != NULL && malloc_usable_size(out[k]) >= n, "block %zu", k);
}

static void *in_a_new_thread(void *unused)
{
	(void)unused;
	unknown[1] = site_off(7);
	return NULL;
}

static void calm(void)
{
	void *blocks[16] = { NULL };
	pthread_t t;

	for (int i = 0; i < CALLS; i++)
		known[i] = site_known(100);
	is_row("site_known", (struct expected){ CALLS, 0, 100 * CALLS, CALLS, 100 * CALLS, 100 * CALLS },
	       "at first");
	pause_tracking(true);
	check(!a || a->paused(), "it is off");
	for (int i = 0; i < CALLS; i++)
		unknown[i] = site_off((size_t)i);
	free(unknown[1]);
	pthread_create(&t, NULL, in_a_new_thread, NULL);
	pthread_join(t, NULL);
	every_call(blocks, 100);
	is_row("site_off", (struct expected){ 0 }, "off");
	is_row("every_call", (struct expected){ 0 }, "off");
	for (int i = 0; i < CALLS / 2; i++)
		free(known[i]);
	is_row("site_known", (struct expected){ CALLS, 500, 100 * CALLS, 500, 50000, 50000 },
	       "frees are counted");
	known[500] = site_grown(known[500], 5000);
	is_row("site_known", (struct expected){ CALLS, 501, 100 * CALLS, 499, 49900, 49900 },
	       "and a realloc's free");
	is_row("site_grown", (struct expected){ 0 }, "but not what it allocates");
	unknown[2] = site_grown(unknown[2], 300);
	pause_tracking(true);
	pause_tracking(false);
	check(!a || !a->paused(), "it is on");
	for (size_t i = 0; i < 16; i++)
		free(blocks[i]);
	is_row("every_call", (struct expected){ 0 }, "freed when on");
	for (int i = 3; i < CALLS; i++)
		free(unknown[i]);
	is_row("site_off", (struct expected){ 0 }, "freed when on");
	unknown[2] = site_grown(unknown[2], 400);
	known[500] = site_grown(known[500], 6000);
	is_row("site_grown", (struct expected){ 2, 0, 6400, 2, 6400, 6400 }, "a realloc makes them known");
	for (int i = 500; i < CALLS; i++)
		free(known[i]);
	free(unknown[0]);
	free(unknown[1]);
	free(unknown[2]);
	is_row("site_known", (struct expected){ CALLS, CALLS, 100 * CALLS, 0, 0, 0 }, "at last");
	is_row("site_grown", (struct expected){ 2, 2, 6400, 0, 0, 0 }, "at last");
	expect("site_known", CALLS, CALLS, 100 * CALLS, 0);
	if (a) {
		is_row("site_off", (struct expected){ 0 }, "at last");
		pause_tracking(true);
		pause_tracking(false);
	}
}

/* --- threads ---------------------------------------------------------------------- */

static atomic_bool stop;
static atomic_uint_fast64_t mallocs, reallocs;
static atomic_uint laps; /* of all threads, LAP steps each */
enum { LAP = 1000 };

/* Frees all it allocates but the last KEEP, which it frees at the end. */
static void *work(void *seed)
{
	uint64_t x = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1, made = 0, grown = 0, steps = 0;
	void *p[KEEP] = { NULL };

	while (!atomic_load(&stop)) {
		unsigned i = (unsigned)(x >> 33) % KEEP;

		if (++steps % LAP == 0)
			atomic_fetch_add(&laps, 1);
		x = x * 6364136223846793005u + 1442695040888963407u;
		if (p[i] && x >> 62 == 0) {
			p[i] = site_busy_grown(p[i], 1 + (x >> 40) % 3000);
			grown++;
			continue;
		}
		free(p[i]);
		p[i] = site_busy(1 + (x >> 40) % 2000);
		made++;
	}
	for (unsigned i = 0; i < KEEP; i++)
		free(p[i]);
	atomic_fetch_add(&mallocs, made);
	atomic_fetch_add(&reallocs, grown);
	return NULL;
}

/* All is freed: what was counted was counted twice, once each way. */
static void adds_up(const char *function, uint64_t most)
{
	struct mw_snapshot *s = a->snapshot();
	struct mw_row r = sum_at(s, function, NULL);

	check(r.allocations > 0 && r.allocations <= most, "%s: %lu of %lu were counted", function,
	      r.allocations, most);
	check(r.frees == r.allocations && r.live == 0 && r.live_bytes == 0 && r.growth == 0 &&
		      r.freed == r.total,
	      "%s: %lu freed, %lu live", function, r.frees, r.live);
	a->snapshot_free(s);
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; a && i < SWITCHES; i++) {
		struct mw_snapshot *s;
		struct mw_row r;

		a->pause(i % 2 == 0);
		if (i % 50)
			continue;
		s = a->snapshot();
		r = sum_at(s, "site_busy", NULL);
		/* a thread may be between two counters of one call */
		if (!s || r.live > THREADS * (KEEP + 1) || r.frees > r.allocations + THREADS)
			check(false, "site_busy: %lu live, %lu of %lu freed", r.live, r.frees,
			      r.allocations);
		a->snapshot_free(s);
	}
	/* on at last, and so for some thousands of calls, however late the threads come to it */
	for (unsigned from = atomic_load(&laps); atomic_load(&laps) - from < 2 * THREADS;)
		usleep(1000);
	usleep(20000);
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	check(atomic_load(&mallocs) > 1000 && atomic_load(&reallocs) > 100, "the threads worked");
	if (!a)
		return;
	adds_up("site_busy", atomic_load(&mallocs));
	adds_up("site_busy_grown", atomic_load(&reallocs));
	check(!a->paused(), "on at last");
	known[0] = site_known(3);
	is_row("site_known", (struct expected){ 1, 0, 3, 1, 3, 3 }, "on at last");
	free(known[0]);
}

/* --- fork ------------------------------------------------------------------------- */

static int child(void)
{
	if (a && !a->paused())
		return 1;
	unknown[0] = site_off(10);
	free(known[0]);
	is_row("site_off", (struct expected){ 0 }, "off in the child");
	is_row("site_known", (struct expected){ 1, 1, 10, 0, 0, -10 }, "a free in the child");
	pause_tracking(false);
	unknown[1] = site_off(10);
	is_row("site_off", (struct expected){ 1, 0, 10, 1, 10, 10 }, "on in the child");
	return 0;
}

static void forked(void)
{
	int status = -1;
	pid_t pid;

	known[0] = site_known(10);
	pause_tracking(true);
	pid = fork();
	if (pid == 0)
		_exit(child());
	waitpid(pid, &status, 0);
	check(status == 0, "the child: %d", status);
	check(!a || a->paused(), "the parent is as it was");
	unknown[0] = site_off(10);
	is_row("site_off", (struct expected){ 0 }, "off in the parent");
	pause_tracking(false);
	free(known[0]);
	free(unknown[0]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	a = tracker();
	say("# api %d\n", a != NULL);
	if (!strcmp(what, "calm"))
		calm();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "fork"))
		forked();
	else
		return 2;
	say("ok done\n");
	return 0;
}
