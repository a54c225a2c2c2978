/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults.c [linger] - goes through the allocator's calls with the n-th failing,
 * for each n (t/preload/failing.c), and says how each call ended; then what was
 * counted. linger: only some calls, and then, under the tracker, waits for as long
 * as nothing is on stderr, a minute at most.
 */
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "../lib/site.h"

enum { CALLS = 18, BLOCKS = 12 };

static struct {
	uint64_t calls, bytes, frees, freed;
} did;
static char *block[BLOCKS];
static size_t size[BLOCKS];

static int arm(unsigned n, bool on)
{
	return getpriority(PRIO_PROCESS, (on ? 0x70000000u : 0x60000000u) + n);
}

static bool got(unsigned i, void *p, size_t n)
{
	if (!p)
		return false;
	did.calls++;
	did.bytes += n;
	memset(p, (int)i + 1, n);
	block[i] = p;
	size[i] = n;
	return true;
}

static void gone(unsigned i)
{
	did.frees++;
	did.freed += size[i];
}

/* A realloc that failed leaves the block and what is in it. */
static bool regrown(unsigned i, void *p, size_t n)
{
	if (p) {
		gone(i);
		return got(i, p, n);
	}
	for (size_t k = 0; k < size[i]; k++)
		if (block[i][k] != (char)(i + 1))
			say("NOT OK block %u\n", i);
	return false;
}

SITE bool call(unsigned k)
{
	void *p = NULL;

	errno = 0;
	switch (k) {
	case 0:
		return got(0, malloc(hide(100)), 100);
	case 1:
		return got(1, calloc(10, hide(20)), 200);
	case 2:
		return got(2, realloc(NULL, hide(300)), 300);
	case 3:
		return got(3, reallocarray(NULL, 20, hide(20)), 400);
	case 4:
		return got(4, aligned_alloc(64, hide(512)), 512);
	case 5:
		return got(5, memalign(64, hide(600)), 600);
	case 6:
		k = (unsigned)posix_memalign(&p, 4096, hide(700));
		if (k)
			errno += (int)k * 1000; /* that it leaves errno is to be seen */
		return got(6, k ? NULL : p, 700);
	case 7:
		return got(7, valloc(hide(800)), 800);
	case 8:
		return got(8, pvalloc(hide(4096)), 4096);
	case 9:
		return got(9, malloc(hide(200000)), 200000);
	case 10:
		return got(10, malloc(hide(0)), 0);
	case 11:
		return got(11, strdup("a copy"), 7);
	case 12:
		return regrown(0, block[0] ? realloc(block[0], hide(5000)) : NULL, 5000);
	case 13:
		return regrown(1, block[1] ? realloc(block[1], hide(50)) : NULL, 50);
	case 14:
		return regrown(9, block[9] ? realloc(block[9], hide(400000)) : NULL, 400000);
	case 15:
		return regrown(3, block[3] ? reallocarray(block[3], 50, hide(20)) : NULL, 1000);
	case 16:
		return regrown(4, block[4] ? realloc(block[4], hide(1 << 20)) : NULL, 1 << 20);
	default:
		return regrown(2, block[2] ? realloc(block[2], hide(301)) : NULL, 301);
	}
}

/* As a number, bit k: call k went well; those that didn't with their errno. */
static void sequence(unsigned n, bool on)
{
	char text[CALLS * 8 + 1] = "";
	unsigned k, asked;

	(void)arm(n, on);
	for (k = 0; k < CALLS; k++)
		if (!call(k))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %u:%d", k, errno);
	asked = (unsigned)arm(0, false);
	say("%u%s of %u:%s\n", n, on ? "+" : "", asked, text);
	for (k = 0; k < BLOCKS; k++) {
		if (!block[k])
			continue;
		gone(k);
		free(block[k]);
		block[k] = NULL;
		size[k] = 0;
	}
}

static struct mw_stats before;

/* The reading itself may meet the failure: then all is zero. */
static struct mw_stats stats(const struct mw_api *a)
{
	struct mw_stats s;

	a->stats(&s);
	if (!s.allocations)
		a->stats(&s);
	return s;
}

static void counted(void)
{
	const struct mw_api *a = tracker();
	struct mw_stats s;
	struct mw_lives *l;

	if (!a)
		return;
	s = stats(a);
	say("# api 1\n");
	say("# counted %lu %lu %lu %lu lost %lu\n", s.allocations - before.allocations,
	    s.total - before.total, s.frees - before.frees, s.freed - before.freed, s.lost);
	l = a->lives(NULL, 0);
	say("# live %lu listed %zu\n", s.live, l ? l->n : SIZE_MAX);
	a->lives_free(l);
}

/* Until something is on stderr, a file. */
static void linger(void)
{
	const struct timespec ms = { .tv_nsec = 10000000 };
	struct stat st;

	for (int i = 0; i < 6000 && !fstat(2, &st) && !st.st_size; i++)
		nanosleep(&ms, NULL);
	nanosleep(&ms, NULL); /* a second line would come at once */
}

int main(int argc, char **argv)
{
	const struct mw_api *a = tracker();

	if (a)
		before = stats(a);
	sequence(0, false);
	if (argc > 1 && !strcmp(argv[1], "linger")) {
		if (a)
			linger();
	} else {
		for (unsigned n = 1; n <= CALLS + 1; n++) {
			sequence(n, false);
			sequence(n, true);
		}
	}
	say("did %lu %lu %lu %lu\n", did.calls, did.bytes, did.frees, did.freed);
	counted();
	return 0;
}
