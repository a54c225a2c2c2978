/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memlock.c - all memory that there is, and that is to come, is locked. Says how much that
 * is in a line that starts with '#': more must not be locked than is needed.
 */
#include <sys/mman.h>

#include "../lib/site.h"

MALLOC_SITE(locked);

static size_t kilobytes(const char *what)
{
	char line[200];
	size_t n = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			n = strtoul(line + strlen(what), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

static void *in_thread(void *arg)
{
	size_t i;

	for (i = 0; i < 100; i++)
		free(locked(100));
	return arg;
}

int main(void)
{
	void *p[1000];
	pthread_t t;
	size_t i;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		say("# refused\n");
	for (i = 0; i < 1000; i++)
		p[i] = locked(i);
	for (i = 0; i < 1000; i += 2)
		free(p[i]);
	for (i = 0; i < 4; i++) {
		pthread_create(&t, NULL, in_thread, NULL);
		pthread_join(t, NULL);
	}
	say("# locked %zu KiB\n", kilobytes("VmLck:"));
	expect("locked", 1400, 900, 499500 + 40000, 250000);
	return 0;
}
