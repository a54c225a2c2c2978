/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.c MODE - when there is no memory left: malloc says so, and works again
 * once there is some. The tracker, which can't have any either, may lose records
 * but neither its sums nor the process.
 *
 * big:     blocks of 1 MiB under RLIMIT_AS
 * small:   small blocks from ever new places under RLIMIT_AS
 * full:    the same, and the process ends with it
 * thread:  a thread starts where nothing can be mapped any more
 */
#include <sys/resource.h>

#include "../lib/site.h"

static void *chain; /* blocks linked by their first word: no memory needed */

static size_t fill(size_t n)
{
	size_t count = 0;
	void **p;

	errno = 0;
	while ((p = keep(malloc(n)))) {
		*p = chain;
		chain = p;
		count++;
	}
	if (errno != ENOMEM)
		say("NOT OK errno is %d\n", errno);
	return count;
}

static void empty(void)
{
	while (chain) {
		void **p = chain;

		chain = *p;
		free(p);
	}
}

static void limit(size_t more)
{
	struct rlimit r;
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%zu", &pages) != 1)
		say("NOT OK statm\n");
	if (f)
		fclose(f);
	r.rlim_cur = r.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
	check(!setrlimit(RLIMIT_AS, &r), "limited");
}

static void *in_thread(void *arg)
{
	free(keep(malloc(100)));
	return arg;
}

static void starved_thread(void)
{
	pthread_attr_t attr;
	static char stack[1 << 18] __attribute__((aligned(4096)));
	pthread_t t;
	void *hold;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, sizeof(stack));
	limit(4 << 20);
	hold = keep(malloc(4096)); /* so that creating the thread finds its bits */
	fill(1 << 20);
	fill(1 << 16);
	fill(4096);
	free(hold);
	check(!pthread_create(&t, &attr, in_thread, NULL), "a thread starts");
	check(!pthread_join(t, NULL), "and ends");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t i;

	if (!strcmp(mode, "big")) {
		limit(64 << 20);
		for (i = 0; i < 3; i++) {
			check(fill(1 << 20) > 20, "filled");
			empty();
		}
	} else if (!strcmp(mode, "small")) {
		limit(24 << 20);
		fill(1 << 16);
		fill(40);
		check(fill(8) < 100000, "full");
		errno = 0;
		check(!keep(calloc(1, 1 << 20)) && errno == ENOMEM, "calloc");
		errno = 0;
		check(!keep(realloc(NULL, 1 << 20)) && errno == ENOMEM, "realloc");
		empty();
		check(fill(1 << 12) > 1000, "filled again");
	} else if (!strcmp(mode, "full")) {
		limit(24 << 20);
		for (i = 1 << 20; i >= 8; i /= 2)
			fill(i);
		say("full\n");
		return 0;
	} else if (!strcmp(mode, "thread")) {
		starved_thread();
	} else {
		return 2;
	}
	empty();
	check(keep(malloc(1 << 16)) != NULL, "there is memory again");
	return 0;
}
