/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spins.c N - for t/priority.t: N threads that never stop allocating, until stdin ends. */
#include "../lib/site.h"

static _Atomic bool over;

static void *spin(void *arg)
{
	while (!over)
		free(keep(malloc(100)));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char c;

	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&t[i], NULL, spin, NULL))
			return 1;
	say("ready\n");
	while (read(0, &c, 1) > 0)
		;
	over = true;
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
	return 0;
}
